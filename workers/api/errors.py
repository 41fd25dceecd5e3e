"""Everything that goes wrong, as JSON: `{field, rule, remedy, message}`, never a traceback."""

from collections.abc import Mapping
from dataclasses import dataclass

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from domain.errors import Trouble
from domain.refusals import ClaimRefusal, Refusal, RefusalKind
from persistence.database.trouble import UNREACHABLE
from workers.api.body import FILES_AT_ONCE, NoRoomError
from workers.payers.orders import StaysStopped, UnknownPayer

RETRY_AFTER_SECONDS = 30
ASK_LATER = "Ask again later: handing the same file in twice makes one claim."
STATUS = {
    RefusalKind.MALFORMED: 400,
    RefusalKind.CONFLICT: 409,
    RefusalKind.TOO_LARGE: 413,
    RefusalKind.UNPROCESSABLE: 422,
}
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class HttpProblem:
    """One answer that is no success."""

    status: int
    message: str
    field: str | None = None
    rule: str | None = None
    remedy: str | None = None


def answer(problem: HttpProblem, headers: Mapping[str, str] | None = None) -> Response:
    """A problem as JSON."""
    body = {name: getattr(problem, name) for name in ("field", "rule", "remedy", "message")}
    return JSONResponse(body, status_code=problem.status, headers=dict(headers or {}))


def on_trouble(_request: Request, error: Exception) -> Response:
    """A refusal is the caller's to mend; any other foreseen trouble is ours, and passes."""
    if isinstance(error, Refusal):
        status = STATUS[error.kind]
        return answer(HttpProblem(status, str(error), error.field, error.rule, error.remedy))
    if isinstance(error, UnknownPayer):
        return answer(HttpProblem(404, str(error), "payerId", "a known payer", "See GET /api/payers."))
    if isinstance(error, ClaimRefusal | StaysStopped):
        remedy = "Look at its state first."
        return answer(HttpProblem(409, str(error), rule="what its state allows", remedy=remedy))
    why = str(error) if isinstance(error, Trouble) else "The database does not answer."
    log.warning("api_unavailable", why=why)
    return answer(
        HttpProblem(503, why, rule="engine and database answer", remedy=ASK_LATER),
        {"Retry-After": str(RETRY_AFTER_SECONDS)},
    )


def on_no_room(_request: Request, _error: Exception) -> Response:
    """Too many files at once: nothing of this one was read."""
    rule = f"as many bytes at once as {FILES_AT_ONCE} of the largest files have"
    problem = HttpProblem(503, "Other files are being taken in.", "file", rule, "Send it again in a moment.")
    return answer(problem, {"Retry-After": "1"})


def stopping() -> Response:
    """A claim that comes while we stop: another of us, or the one that is started next, takes it in."""
    message = "This worker is stopping and takes no claims in."
    problem = HttpProblem(503, message, rule="a worker that is not stopping", remedy=ASK_LATER)
    return answer(problem, {"Retry-After": str(RETRY_AFTER_SECONDS)})


def on_http(_request: Request, error: Exception) -> Response:
    """No such route, no such method."""
    if not isinstance(error, HTTPException):
        raise error
    remedy = "See GET /api/openapi.json."
    problem = HttpProblem(error.status_code, f"{error.detail}.", "path", "a path that is served", remedy)
    return answer(problem, error.headers)


def on_surprise(_request: Request, error: Exception) -> Response:
    """What nobody foresaw: its kind is logged, its text may quote the file."""
    log.error("api_failed", error=type(error).__name__)
    remedy = "Ask again; if it happens again, tell the operators the time."
    return answer(HttpProblem(500, "The claim was not handled: a fault of ours.", remedy=remedy))


HANDLERS = {
    Trouble: on_trouble,
    NoRoomError: on_no_room,
    HTTPException: on_http,
    Exception: on_surprise,
    **dict.fromkeys(UNREACHABLE, on_trouble),
}
