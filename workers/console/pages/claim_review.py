"""A claim in review: who has it, what colleagues noted, and the decisions that fit; each with who and why."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from starlette.responses import Response

from domain.access import AccessRefusal, Permission, read_login
from domain.bulk_orders import BulkAction, BulkRefusal, set_mark
from domain.claim import ClaimId, ClaimIdForm
from domain.claim_state import ClaimState
from domain.legible import is_text
from domain.operators import Attribution, attribution
from domain.refusals import ClaimRefusal, Refusal
from domain.reviews import AtPayer, ReviewDecision, ReviewReason, allowed
from gateways.tiss.answers import is_protocol
from gateways.tiss.lote import LoteRefusedError
from persistence.repositories.claims import ClaimRow
from persistence.repositories.people import Person
from persistence.repositories.review_desk import DeskFilter
from persistence.store import Transaction
from workers.claims.bulk_desk import BulkWish, Signer
from workers.claims.confirmation import Unfinished
from workers.claims.finding import whether_at_payer
from workers.claims.protocols import ProtocolTrouble
from workers.claims.reviewing import Verdict, may_take
from workers.console.pages.visit import Visit, go, render
from workers.console.views.file_faults import fault_rows, problem_of
from workers.payers.questions import NotNow

SAID = frozenset(
    {"decided", "corrected", "recovered", "written_off", "assigned", "noted", "no_file", "unconfirmed"}
    | {"not_confirmed", "not_now", "no_protocol", "bad_protocol", "nobody", "ask_first"}
)
DONE = frozenset({"decided", "corrected", "recovered", "written_off", "assigned", "noted"})
Work = Callable[[ClaimId, Attribution], Awaitable[object]]
Answering = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class ReviewParts:
    """What the page says of a review: who has it, whom it may be given to, what who asks may decide."""

    assignee: str
    colleagues: Sequence[Person]
    may_handle: bool
    decisions: frozenset[str]
    is_at_payer: bool
    by_two: bool


def seen_mark(claim: ClaimRow, sends: int) -> str:
    """By what a page's forms know the claim again: any step of it, or another send, is another mark."""
    return f"{claim.state}-{claim.reason or ''}-{sends}"


def as_seen(answer: Answering) -> Answering:
    """An order about one claim, if that is still as whoever orders it saw it."""

    async def answering(visit: Visit) -> Response:
        seen, claim_id = visit.field("seen"), visit.request.path_params["claim_id"]
        is_checked = seen and ClaimIdForm.CLM.fits(claim_id)
        if is_checked and seen != await visit.console.store.look(lambda tx: _mark_of(tx, claim_id)):
            return go(_path(visit), said="changed_since")
        return await answer(visit)

    return answering


async def _mark_of(tx: Transaction, claim_id: str) -> str:
    claim = await tx.claims.find(claim_id)
    return seen_mark(claim, len((await tx.attempts.history(claim_id)).sends)) if claim else ""


async def look_at_review(tx: Transaction, claim: ClaimRow) -> tuple[str, Sequence[Person]]:
    """Who has the claim's review, and everybody who may."""
    taken = await tx.review_desk.assignees([claim.claim_id])
    everybody = [one for one in await tx.people.all() if one.disabled_at is None]
    able = [one for one in everybody if Permission.HANDLE_REVIEWS in one.permissions]
    return taken.get(claim.claim_id, ""), able


def review_parts(
    visit: Visit, claim: ClaimRow, where: AtPayer, seen: tuple[str, Sequence[Person]]
) -> ReviewParts | None:
    """None where nobody is asked."""
    if claim.state is not ClaimState.IN_REVIEW or claim.incident:
        return None
    login, people = seen
    reason = ReviewReason.PROTOCOL_MISSING if where is AtPayer.YES else claim.reason or ""
    fits = {decision for decision in allowed(reason) if visit.may(_NEEDS[decision])}
    return ReviewParts(
        assignee=next((one.name for one in people if one.login == login), login),
        colleagues=people,
        may_handle=visit.may(Permission.HANDLE_REVIEWS),
        decisions=frozenset(str(one) for one in fits),
        is_at_payer=where is not AtPayer.NO,
        by_two=visit.console.settings.write_off_by_two,
    )


_NEEDS: Mapping[ReviewDecision, Permission] = {
    ReviewDecision.RESEND: Permission.DECIDE_REVIEWS,
    ReviewDecision.CORRECTED: Permission.CORRECT_CLAIMS,
    ReviewDecision.WRITE_OFF: Permission.WRITE_OFF_CLAIMS,
    ReviewDecision.PROTOCOL_RECOVERED: Permission.DECIDE_REVIEWS,
}


async def resend_claim(visit: Visit) -> Response:
    """Send it again; what its payer may have, only by who says to have asked."""
    if await _is_to_ask_first(visit):
        return go(_path(visit), said="ask_first")
    return await done_about(visit, _deciding(visit, Verdict(ReviewDecision.RESEND)), "decided")


async def correct_claim(visit: Visit) -> Response:
    """Send it again with a corrected file, or with its own where the data were mended elsewhere."""
    if not visit.file and visit.field("without_file") != "yes":
        return go(_path(visit), said="no_file")
    if await _is_to_ask_first(visit):
        return go(_path(visit), said="ask_first")
    verdict = Verdict(ReviewDecision.CORRECTED, file=visit.file or None)
    try:
        return await done_about(visit, _deciding(visit, verdict), "corrected")
    except Refusal as refusal:
        return render(
            visit,
            "file_refused.html",
            422,
            back=_path(visit),
            problem=problem_of(refusal, visit.words),
            faults=fault_rows(refusal, visit.words),
        )


async def _is_to_ask_first(visit: Visit) -> bool:
    """Whether the payer may have it, and nobody says to have asked."""
    claim_id = visit.request.path_params["claim_id"]
    where = await visit.console.store.look(lambda tx: whether_at_payer(tx, claim_id))
    return where is AtPayer.MAYBE and visit.field("asked_payer") != "yes"


async def recover_protocol(visit: Visit) -> Response:
    """The payer has it: end it under its protocol, which the payer confirms, or somebody has seen."""
    number, is_seen = visit.field("protocol").strip(), visit.field("unchecked") == "yes"
    if is_seen and not number:
        return go(_path(visit), said="no_protocol")
    if number and not is_protocol(number):
        return go(_path(visit), said="bad_protocol")
    verdict = Verdict(ReviewDecision.PROTOCOL_RECOVERED, number or None, is_seen)
    try:
        return await done_about(visit, _deciding(visit, verdict), "recovered")
    except NotNow:
        return go(_path(visit), said="not_now")
    except (ProtocolTrouble, LoteRefusedError):
        return go(_path(visit), said="not_confirmed")


async def write_off_claim(visit: Visit) -> Response:
    """End it for good; where two are asked for, the second confirms."""
    if visit.console.settings.write_off_by_two:
        return await _propose(visit)
    return await done_about(visit, _deciding(visit, Verdict(ReviewDecision.WRITE_OFF)), "written_off")


async def assign_review(visit: Visit) -> Response:
    """Give the review to oneself, or to a colleague."""
    why = visit.field("reason")
    try:
        login = read_login(visit.field("login"))
    except AccessRefusal:
        return go(_path(visit), said="nobody")
    if not await visit.console.store.look(lambda tx: may_take(tx, login)):
        return go(_path(visit), said="nobody")
    reason = f"{login}: {why}" if why.strip() and is_text(why) else login

    async def work(claim_id: ClaimId, given: Attribution) -> None:
        await visit.console.reviews.assign(claim_id, login, given)

    return await done_about(visit, work, "assigned", reason)


async def note_claim(visit: Visit) -> Response:
    """Keep a note for colleagues."""
    return await done_about(visit, visit.console.reviews.note, "noted")


async def _propose(visit: Visit) -> Response:
    claim_id, why = visit.request.path_params["claim_id"], visit.field("reason")
    given = attribution(visit.person.signature, why)
    if not given.reason or not is_text(why):
        return go(_path(visit), said="no_reason")
    wanted = DeskFilter(claim_id=claim_id)
    wish = BulkWish(BulkAction.WRITE_OFF, wanted, _path(visit), set_mark([claim_id]), needs_second=True)
    try:
        placed = await visit.console.bulk.place(wish, Signer(visit.person.login, given))
    except BulkRefusal:
        return go(_path(visit), said="refused")
    return go(f"/reviews/bulk/{placed}") if isinstance(placed, int) else go(_path(visit), said="refused")


def _deciding(visit: Visit, verdict: Verdict) -> Work:
    async def work(claim_id: ClaimId, given: Attribution) -> None:
        await visit.console.reviews.decide(claim_id, verdict, given)

    return work


def _path(visit: Visit) -> str:
    return f"/claims/{quote(visit.request.path_params['claim_id'])}"


async def done_about(visit: Visit, work: Work, done: str, why: str | None = None) -> Response:
    """Carry it out, signed by who asks; and back to the claim, with what came of it."""
    path, text = _path(visit), visit.field("reason") if why is None else why
    given = attribution(visit.person.signature, text)
    if not given.reason or not is_text(text):
        return go(path, said="no_reason")
    try:
        await work(ClaimId(visit.request.path_params["claim_id"]), given)
    except Unfinished:
        return go(path, said="later")
    except (ClaimRefusal, ValueError):
        return go(path, said="refused")
    return go(path, said=done)
