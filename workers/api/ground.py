"""What the HTTP interface stands on, and one question asked of it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import TypeVar

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from domain.operators import Attribution, attribution
from domain.policy import Policy
from domain.refusals import malformed
from workers.api.body import read_body
from workers.api.models import ApiAnswer, ApiQuestion, ReasonedOrder
from workers.api.systems import ApiSystem
from workers.claims.deadlines import ClaimDeadlines
from workers.claims.intake import Intake
from workers.claims.steering import ClaimSteering
from workers.config.intake import SystemToken
from workers.payers.orders import Orders

ORDER_MAX_BYTES = 10_000
Shape = TypeVar("Shape", bound=ApiQuestion)


def never() -> bool:
    """Who is not told when we stop."""
    return False


@dataclass(frozen=True, slots=True)
class ApiGround:
    """The use cases, who may ask for them, and whether we are stopping."""

    intake: Intake
    orders: Orders
    policy: Callable[[], Policy]
    tokens: Sequence[SystemToken]
    is_stopping: Callable[[], bool] = never

    @property
    def zone(self) -> tzinfo:
        """In which days begin and times without an offset are read."""
        return self.policy().zone

    @property
    def deadlines(self) -> ClaimDeadlines:
        """Changes until when a claim is due."""
        return ClaimDeadlines(self.intake.store, self.intake.commands, self.intake.clock, self.policy)

    @property
    def steering(self) -> ClaimSteering:
        """What may be ordered of one claim."""
        return ClaimSteering(self.intake.store, self.intake.commands, self.intake.clock)


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A request of a system that may make it."""

    ground: ApiGround
    system: ApiSystem
    request: Request

    def query(self, shape: type[Shape]) -> Shape:
        """What the query asks for; a refusal names the parameter that is wrong."""
        return _read(shape, dict(self.request.query_params))

    async def order(self, shape: type[Shape]) -> Shape:
        """What the body orders."""
        body = await read_body(self.request, ORDER_MAX_BYTES)
        try:
            given = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise _refused("body", "it is not JSON") from error
        return _read(shape, given)

    def signed(self, order: ReasonedOrder) -> Attribution:
        """Who orders it, by the token, and why."""
        return attribution(self.system.signature, order.reason)


def told(answer: ApiAnswer, status: int = 200) -> Response:
    """An answer as JSON, under the names that the description gives."""
    body = answer.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return JSONResponse(body, status_code=status)


def _read(shape: type[Shape], given: object) -> Shape:
    try:
        return shape.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise _refused(str(first["loc"][0]) if first["loc"] else "body", first["msg"]) from error


def _refused(field: str, problem: str) -> Exception:
    return malformed(field, problem, rule="/api/openapi.json", remedy="See there what may be asked.")
