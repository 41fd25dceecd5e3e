"""`POST /api/claims` and `GET /api/claims/{id}`: claims over HTTP, without patient data in any answer."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from domain.claim_state import ClaimState
from domain.outputs import iso_time
from domain.practice import is_made_up
from persistence.repositories.claims import ClaimRow
from workers.api.body import BodyRoom, is_xml, read_body
from workers.api.errors import HANDLERS, HttpProblem, answer, stopping
from workers.api.tokens import TokenCheck
from workers.claims.claim_ids import read_claim_id
from workers.claims.examination import ClaimFile
from workers.claims.intake import Intake, KnownClaim

Answering = Callable[[Request], Awaitable[Response]]


def never() -> bool:
    """Who is not told when we stop."""
    return False


def api(intake: Intake, tokens: Sequence[str], is_stopping: Callable[[], bool] = never) -> Starlette:
    """The application; nobody gets in without a token, and no claim while we are stopping."""
    check, room = TokenCheck(tokens), BodyRoom(intake.reader.terms.max_bytes)

    async def submit(request: Request) -> Response:
        if is_stopping():
            return stopping()
        if not is_xml(request):
            remedy = "Send the file as application/xml or text/xml."
            return answer(HttpProblem(415, "The body is not XML.", "Content-Type", "application/xml", remedy))
        with room.taken(request):
            return await _submit(request, intake)

    async def show(request: Request) -> Response:
        return await _show(request, intake)

    routes = [
        Route("/api/claims", _guarded(check, submit), methods=["POST"]),
        Route("/api/claims/{claim_id}", _guarded(check, show), methods=["GET"]),
    ]
    return Starlette(routes=routes, exception_handlers=HANDLERS)


def _guarded(check: TokenCheck, then: Answering) -> Answering:
    async def answering(request: Request) -> Response:
        if check.admits(request.headers.get("authorization")):
            return await then(request)
        remedy = "Send the header Authorization: Bearer TOKEN with a token of API_TOKENS."
        problem = HttpProblem(401, "Who asks is not known here.", "Authorization", "API_TOKENS", remedy)
        return answer(problem, {"WWW-Authenticate": "Bearer"})

    return answering


async def _submit(request: Request, intake: Intake) -> Response:
    query = request.query_params
    file = ClaimFile(
        await read_body(request, intake.reader.terms.max_bytes),
        payer=query.get("payer"),
        deadline=query.get("deadline"),
        claim_id=query.get("claimId"),
    )
    result = await intake.submit(file)
    known = isinstance(result, KnownClaim)
    state = result.state if isinstance(result, KnownClaim) else ClaimState.RECEIVED
    body = {"claimId": result.claim_id.value, "state": state, "new": not known}
    body |= {"sealedAnew": True} if isinstance(result, KnownClaim) and result.sealed_anew else {}
    return JSONResponse(body, status_code=200 if known else 202)


async def _show(request: Request, intake: Intake) -> Response:
    claim_id = read_claim_id(request.path_params["claim_id"])
    claim = await intake.store.look(lambda tx: tx.claims.find(claim_id.value))
    if claim is None:
        remedy = "Hand it in with POST /api/claims."
        return answer(HttpProblem(404, f"{claim_id} is not known here.", "claimId", "a known claim", remedy))
    return JSONResponse(_state(claim))


def _state(claim: ClaimRow) -> dict[str, object]:
    return {
        "claimId": claim.claim_id,
        "payerId": claim.payer_id,
        "state": claim.state,
        "retryCount": claim.retry_count,
        "nextRetryTime": _time(claim.next_retry_time),
        "deadline": _time(claim.deadline),
        "batchNumber": claim.batch_number,
        "protocolNumber": claim.protocol_number,
        "practice": is_made_up(claim.protocol_number),
        "reason": claim.reason,
    }


def _time(moment: datetime | None) -> str | None:
    return iso_time(moment) if moment else None
