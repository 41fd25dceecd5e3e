"""Claims over HTTP: handed in, listed, shown, sent now, cancelled."""

import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from starlette.responses import Response

from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.refusals import malformed
from persistence.repositories.claim_lists import (
    AskedPage,
    ClaimFilter,
    ListedState,
    ListOrder,
    ListPlace,
)
from persistence.repositories.claims import ClaimRow
from persistence.store import Transaction
from workers.api.body import BodyRoom, is_xml, read_body
from workers.api.errors import HttpProblem, answer, stopping
from workers.api.ground import ApiCall, told
from workers.api.models import (
    CancelOrder,
    ClaimAnswer,
    ClaimQuery,
    ClaimsAnswer,
    DeadlineOrder,
    ReasonedOrder,
    ReceivedAnswer,
    ReviewAnswer,
    ReviewQuery,
    ReviewsAnswer,
)
from workers.claims.claim_ids import read_claim_id
from workers.claims.examination import ClaimFile
from workers.claims.intake import KnownClaim


async def submit(call: ApiCall, room: BodyRoom) -> Response:
    """Take a file in; the same again changes nothing."""
    if call.ground.is_stopping():
        return stopping()
    if not is_xml(call.request):
        remedy = "Send the file as application/xml or text/xml."
        return answer(HttpProblem(415, "The body is not XML.", "Content-Type", "application/xml", remedy))
    with room.taken(call.request):
        return await _submit(call)


async def _submit(call: ApiCall) -> Response:
    query, intake = call.request.query_params, call.ground.intake
    file = ClaimFile(
        await read_body(call.request, intake.reader.terms.max_bytes),
        payer=query.get("payer"),
        deadline=query.get("deadline"),
        claim_id=query.get("claimId"),
    )
    result = await intake.submit(file)
    known = isinstance(result, KnownClaim)
    state = result.state if isinstance(result, KnownClaim) else ClaimState.RECEIVED
    anew = {"sealed_anew": True} if isinstance(result, KnownClaim) and result.sealed_anew else {}
    body = ReceivedAnswer(claim_id=result.claim_id.value, state=state, new=not known, **anew)
    return told(body, 200 if known else 202)


async def show(call: ApiCall) -> Response:
    """One claim."""
    claim_id = _claim_id(call)
    found = await _find(call, claim_id)
    return told(ClaimAnswer.of(found)) if found else _unknown(claim_id)


async def listed(call: ApiCall) -> Response:
    """Claims by their state, payer, deadline or number, page by page."""
    query = call.query(ClaimQuery)
    wanted = ClaimFilter(
        state=query.state, payer_id=query.payer, due_before=query.due_before, text=query.text
    )
    asked = AskedPage(query.order, query.limit, read_place(query.after) if query.after else None)
    found = await call.ground.intake.store.look(lambda tx: tx.claim_lists.page(wanted, asked))
    return told(ClaimsAnswer(claims=[ClaimAnswer.of(row) for row in found], next=_next(found, asked)))


async def reviews(call: ApiCall) -> Response:
    """Claims that wait for people, the newest first."""
    query = call.query(ReviewQuery)
    wanted = ClaimFilter(state=ListedState.REVIEW, payer_id=query.payer, team=query.team)
    asked = AskedPage(ListOrder.NEWEST, query.limit, read_place(query.after) if query.after else None)
    found, teams = await call.ground.intake.store.look(partial(_with_teams, wanted=wanted, asked=asked))
    answers = [
        ReviewAnswer(**ClaimAnswer.of(row).model_dump(), team=teams.get(row.claim_id)) for row in found
    ]
    return told(ReviewsAnswer(reviews=answers, next=_next(found, asked)))


async def wake(call: ApiCall) -> Response:
    """Send a waiting claim as soon as its payer takes it."""
    claim_id, order = _claim_id(call), await call.order(ReasonedOrder)
    if await _find(call, claim_id) is None:
        return _unknown(claim_id)
    return told(ClaimAnswer.of(await call.ground.steering.wake(claim_id, call.signed(order))))


async def cancel(call: ApiCall) -> Response:
    """End a claim for good."""
    claim_id, order = _claim_id(call), await call.order(CancelOrder)
    if await _find(call, claim_id) is None:
        return _unknown(claim_id)
    steering = call.ground.steering
    found = await steering.cancellable(claim_id, although_sent=order.although_sent)
    await steering.cancel(found, call.signed(order), although_sent=order.although_sent)
    return await show(call)


async def change_deadline(call: ApiCall) -> Response:
    """Change until when a claim must be with its payer; its process decides by it from its next decision."""
    claim_id, order = _claim_id(call), await call.order(DeadlineOrder)
    if await _find(call, claim_id) is None:
        return _unknown(claim_id)
    changed = await call.ground.deadlines.change(claim_id, order.deadline, call.signed(order))
    return told(ClaimAnswer.of(changed.claim))


async def _with_teams(
    tx: Transaction, wanted: ClaimFilter, asked: AskedPage
) -> tuple[Sequence[ClaimRow], dict[str, str]]:
    found = await tx.claim_lists.page(wanted, asked)
    return found, dict(await tx.reviews.teams([row.claim_id for row in found]))


def _claim_id(call: ApiCall) -> ClaimId:
    return read_claim_id(call.request.path_params["claim_id"])


async def _find(call: ApiCall, claim_id: ClaimId) -> ClaimRow | None:
    return await call.ground.intake.store.look(lambda tx: tx.claims.find(claim_id.value))


def _unknown(claim_id: ClaimId) -> Response:
    remedy = "Hand it in with POST /api/claims."
    return answer(HttpProblem(404, f"{claim_id} is not known here.", "claimId", "a known claim", remedy))


def _next(found: Sequence[ClaimRow], asked: AskedPage) -> str | None:
    """Where the next page begins, in letters that mean nothing to anybody else."""
    if len(found) < asked.limit:
        return None
    last = found[-1]
    moment = last.deadline if asked.order is ListOrder.DEADLINE else last.created_at
    return place_told(ListPlace(moment, last.claim_id)) if moment else None


def place_told(place: ListPlace) -> str:
    """A place in a list as one word."""
    return base64.urlsafe_b64encode(f"{place.moment.isoformat()} {place.claim_id}".encode()).decode()


def read_place(text: str) -> ListPlace:
    """The place again; a refusal where it is none of ours."""
    try:
        moment, claim_id = base64.b64decode(text, b"-_", validate=True).decode().split(" ", 1)
        return ListPlace(datetime.fromisoformat(moment).astimezone(UTC), claim_id)
    except (ValueError, OverflowError, binascii.Error) as error:
        problem, remedy = "it names no place in a list", "Give `next` of the answer before, or leave it out."
        raise malformed("after", problem, rule="`next` of an answer", remedy=remedy) from error
