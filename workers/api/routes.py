"""The HTTP interface for other systems, without patient data in any answer."""

from collections.abc import Awaitable, Callable, Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from workers.api.body import BodyRoom
from workers.api.claims import submit
from workers.api.description import description
from workers.api.errors import HANDLERS, HttpProblem, answer
from workers.api.ground import ApiCall, ApiGround
from workers.api.operations import OPERATIONS, ApiOperation
from workers.api.systems import TokenCheck

Answering = Callable[[Request], Awaitable[Response]]


def api(ground: ApiGround) -> Starlette:
    """The application; nobody gets in without a token, and no claim while we are stopping."""
    check, room = TokenCheck(ground.tokens), BodyRoom(ground.intake.reader.terms.max_bytes)
    paths: dict[str, dict[str, Answering]] = {"/api/openapi.json": {"GET": _described}}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method] = _guarded(one, ground, check, room)
    routes = [Route(path, _by_method(methods), methods=[*methods]) for path, methods in paths.items()]
    return Starlette(routes=routes, exception_handlers=HANDLERS)


def _by_method(methods: Mapping[str, Answering]) -> Answering:
    """One route for each path: who asks for another method is told of all there are."""

    async def answering(request: Request) -> Response:
        return await methods["GET" if request.method == "HEAD" else request.method](request)

    return answering


def _guarded(one: ApiOperation, ground: ApiGround, check: TokenCheck, room: BodyRoom) -> Answering:
    async def answering(request: Request) -> Response:
        system = check.who(request.headers.get("authorization"))
        if system is None:
            return _who_is_that()
        if one.permission not in system.permissions:
            return _may_not(one)
        call = ApiCall(ground, system, request)
        return await (one.answers(call) if one.answers else submit(call, room))

    return answering


async def _described(_request: Request) -> Response:
    return JSONResponse(description())


def _who_is_that() -> Response:
    remedy = "Send the header Authorization: Bearer TOKEN with a token of API_TOKENS."
    problem = HttpProblem(401, "Who asks is not known here.", "Authorization", "API_TOKENS", remedy)
    return answer(problem, {"WWW-Authenticate": "Bearer"})


def _may_not(one: ApiOperation) -> Response:
    remedy = "Give the system a role that may, as in API_TOKENS=name:role+role:TOKEN."
    return answer(
        HttpProblem(403, f"This system may not `{one.permission}`.", "Authorization", "API_TOKENS", remedy)
    )
