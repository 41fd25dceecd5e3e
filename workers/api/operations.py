"""Every operation of the HTTP interface in one table: what is asked, who may ask, what is answered."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from starlette.responses import Response

from domain.access import Permission
from workers.api import claims, payers
from workers.api.ground import ApiCall
from workers.api.models import (
    ApiAnswer,
    ApiQuestion,
    CancelOrder,
    ClaimAnswer,
    ClaimQuery,
    ClaimsAnswer,
    DeadlineOrder,
    KpiQuery,
    KpisAnswer,
    NoQuery,
    PauseOrder,
    PayerAnswer,
    PayersAnswer,
    ReasonedOrder,
    ReceivedAnswer,
    ReviewQuery,
    ReviewsAnswer,
    SubmitQuery,
)

Answers = Callable[[ApiCall], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """One thing that systems may ask for; without `answers` it is the one that takes files in."""

    method: str
    path: str
    permission: Permission
    result: type[ApiAnswer]
    answers: Answers | None = None
    query: type[ApiQuestion] = NoQuery
    order: type[ApiQuestion] | None = None
    statuses: Mapping[int, str] = field(default_factory=lambda: {200: "As asked."})


SUBMIT = ApiOperation(
    "POST",
    "/api/claims",
    Permission.HAND_IN_CLAIMS,
    ReceivedAnswer,
    query=SubmitQuery,
    statuses={202: "A new claim is on its way.", 200: "The claim is known."},
)
OPERATIONS = (
    SUBMIT,
    ApiOperation("GET", "/api/claims", Permission.SEE_WORK, ClaimsAnswer, claims.listed, ClaimQuery),
    ApiOperation("GET", "/api/claims/{claim_id}", Permission.SEE_WORK, ClaimAnswer, claims.show),
    ApiOperation(
        "POST",
        "/api/claims/{claim_id}/retry-now",
        Permission.WAKE_CLAIMS,
        ClaimAnswer,
        claims.wake,
        order=ReasonedOrder,
    ),
    ApiOperation(
        "POST",
        "/api/claims/{claim_id}/cancel",
        Permission.CANCEL_CLAIMS,
        ClaimAnswer,
        claims.cancel,
        order=CancelOrder,
    ),
    ApiOperation(
        "POST",
        "/api/claims/{claim_id}/deadline",
        Permission.CHANGE_DEADLINES,
        ClaimAnswer,
        claims.change_deadline,
        order=DeadlineOrder,
    ),
    ApiOperation("GET", "/api/reviews", Permission.SEE_WORK, ReviewsAnswer, claims.reviews, ReviewQuery),
    ApiOperation("GET", "/api/payers", Permission.SEE_WORK, PayersAnswer, payers.payers),
    ApiOperation("GET", "/api/payers/{payer_id}", Permission.SEE_WORK, PayerAnswer, payers.payer),
    ApiOperation(
        "POST",
        "/api/payers/{payer_id}/pause",
        Permission.STEER_PAYERS,
        PayerAnswer,
        payers.pause,
        order=PauseOrder,
    ),
    ApiOperation(
        "POST",
        "/api/payers/{payer_id}/resume",
        Permission.STEER_PAYERS,
        PayerAnswer,
        payers.resume,
        order=ReasonedOrder,
    ),
    ApiOperation("GET", "/api/kpis", Permission.SEE_WORK, KpisAnswer, payers.kpis, KpiQuery),
)
