"""One claim: where it stands, what happens next, its story; and what may be asked of it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from starlette.responses import Response

from domain.access import Permission
from domain.claim import ClaimId, ClaimIdForm
from domain.claim_state import ClaimState
from domain.legible import is_text
from domain.operators import Attribution, attribution
from domain.payer_status import PayerState
from domain.refusals import ClaimRefusal
from domain.reviews import AtPayer
from persistence.audit.claim_seal import SealState
from persistence.repositories.claims import ClaimRow
from persistence.repositories.decisions import StoredDecision
from persistence.repositories.people import Person
from persistence.store import Transaction
from workers.claims.confirmation import Unfinished
from workers.claims.finding import whether_at_payer
from workers.claims.places import Trace, element_of
from workers.console.pages import claim_care, claim_review
from workers.console.pages.visit import Visit, go, render, times_of
from workers.console.views.claim_list import reason_of, title_of
from workers.console.views.claim_story import Records, story
from workers.console.views.next_retry import next_retry
from workers.console.views.shapes import StateShape, StateView, Tone
from workers.console.views.states import Circumstances, claim_state, is_at_risk
from workers.console.views.today import RISK
from workers.console.words import Words

Order = Callable[[Visit, ClaimId, Attribution], Awaitable[None]]
SAID = (
    frozenset({"woken", "cancelled", "later", "refused", "no_reason", "changed_since"})
    | claim_review.SAID
    | claim_care.SAID
)
CANCELLABLE = (ClaimState.WAITING, ClaimState.IN_REVIEW)
_SEALS = {
    SealState.WHOLE: (Tone.DONE, StateShape.CHECK),
    SealState.UNPROVEN: (Tone.WAITING, StateShape.WARNING),
    SealState.BROKEN: (Tone.STOPPED, StateShape.WARNING),
    SealState.EMPTY: (Tone.CALM, StateShape.DASH),
}


@dataclass(frozen=True, slots=True)
class ShownClaim:
    """All that is on record of a claim that the page shows."""

    claim: ClaimRow
    beside: Circumstances
    records: Records
    where: AtPayer
    seal: SealState
    review: tuple[str, Sequence[Person]]
    care: claim_care.Cared


async def claim_page(visit: Visit) -> Response:
    """The claim; an id that nobody knows is a page that says so."""
    known = await known_claim(visit)
    return unknown_claim(visit) if known is None else render(visit, "claim.html", **shown(visit, known))


async def claim_words(visit: Visit) -> Response:
    """The claim with what its payer wrote in its own words; who looked, and why, is kept first."""
    words = await claim_care.words_of_claim(visit)
    if isinstance(words, Response):
        return words
    known = await known_claim(visit)
    return (
        unknown_claim(visit) if known is None else render(visit, "claim.html", **shown(visit, known, words))
    )


async def known_claim(visit: Visit) -> ShownClaim | None:
    """The claim that the address names."""
    claim_id = visit.request.path_params["claim_id"]
    has_form = any(form.fits(claim_id) for form in ClaimIdForm)
    return await visit.console.store.look(lambda tx: _known(tx, claim_id)) if has_form else None


def unknown_claim(visit: Visit) -> Response:
    """The page about a claim that nobody knows."""
    return render(visit, "error.html", 404, message="claim.unknown", status=404)


async def _known(tx: Transaction, claim_id: str) -> ShownClaim | None:
    claim = await tx.claims.find(claim_id)
    if claim is None:
        return None
    decisions = await tx.decisions.of_claims([claim_id])
    records = Records(
        journal=await tx.journal.of_claim(claim_id),
        sends=(await tx.attempts.history(claim_id)).sends,
        decisions=decisions,
        orders=await tx.orders.about_claim(claim_id),
        policies=dict(await tx.policies.by_version(one.policy_version for one in decisions)),
    )
    teams, wait = await tx.reviews.teams([claim_id]), await tx.payers.wait_of(claim_id)
    payer = await tx.payers.find(wait.payer_id) if wait else None
    where, seal = await whether_at_payer(tx, claim_id), await tx.audit.seal_of(claim_id)
    beside = Circumstances(payer.state if payer else None, teams.get(claim_id))
    review = await claim_review.look_at_review(tx, claim)
    care = await claim_care.look_at_care(tx, claim_id)
    return ShownClaim(claim, beside, records, where, seal, review, care)


def place_of(known: ShownClaim) -> str:
    """The element of the model at which the claim stands."""
    records = known.records
    return element_of(known.claim, Trace(records.sends, records.decisions, records.journal))


def place_name(element: str, words: Words) -> str:
    """The element as people call it."""
    name = f"place.{element}"
    return words(name) if words.knows(name) else words("place.other")


def shown(visit: Visit, known: ShownClaim, read: Sequence[claim_care.ReadWords] = ()) -> dict[str, object]:
    """What the page says of the claim; with `read`, what others wrote about it."""
    claim, times, words = known.claim, times_of(visit), visit.words
    newest: StoredDecision | None = known.records.decisions[-1] if known.records.decisions else None
    said = visit.request.query_params.get("said", "")
    return {
        "claim": claim,
        "title": title_of(claim, words),
        "state": claim_state(claim, known.beside, times),
        "reason": reason_of(claim, newest, words),
        "next_step": words(f"next.{_next_step(known)}"),
        "deadline": times.left(claim.deadline) if claim.deadline else None,
        "is_at_risk": is_at_risk(claim, visit.now + RISK),
        "received": times.at(claim.created_at) if claim.created_at else None,
        "due": times.at(claim.next_retry_time) if claim.next_retry_time else None,
        "sends": len(known.records.sends),
        "seen": claim_review.seen_mark(claim, len(known.records.sends)),
        "limit": newest.max_retries if newest else None,
        "seal": StateView(*_SEALS[known.seal], words(f"seal.{known.seal}")),
        "story": story(known.records, times),
        "may_wake": visit.may(Permission.WAKE_CLAIMS) and _may_be_woken(claim),
        "may_cancel": visit.may(Permission.CANCEL_CLAIMS) and _may_be_cancelled(claim),
        "is_at_payer": known.where is not AtPayer.NO,
        "care": claim_care.care_parts(visit, claim, known.care, known.records.orders),
        "read": read,
        "place": place_name(place_of(known), words),
        "chart": next_retry(claim, known.records, times) if known.beside.held_by is None else None,
        "review": claim_review.review_parts(visit, claim, known.where, known.review),
        "said": said if said in SAID else "",
        "is_done": said in {"woken", "cancelled"} | claim_review.DONE | claim_care.DONE,
    }


def _may_be_woken(claim: ClaimRow) -> bool:
    return claim.state is ClaimState.WAITING and claim.incident is None


def _may_be_cancelled(claim: ClaimRow) -> bool:
    return not claim.state.is_final and (claim.state in CANCELLABLE or claim.incident is not None)


_HELD_STEPS = {PayerState.CLOSED: "queued", PayerState.STOPPED: "stopped"}


def _next_step(known: ShownClaim) -> str:
    """What happens next, or who is to do something."""
    claim = known.claim
    if claim.incident:
        return "incident"
    if claim.state is ClaimState.WAITING:
        return _HELD_STEPS.get(known.beside.held_by, "held") if known.beside.held_by else "waiting"
    if claim.state is ClaimState.IN_REVIEW:
        return {AtPayer.YES: "protocol", AtPayer.MAYBE: "ask_payer", AtPayer.NO: "review"}[known.where]
    return "done" if claim.state.is_final else "moving"


async def wake_claim(visit: Visit) -> Response:
    """Send it now, as soon as its payer takes it."""
    return await _steered(visit, _wake, "woken")


async def cancel_claim(visit: Visit) -> Response:
    """End it for good."""
    return await _steered(visit, _cancel, "cancelled")


async def _wake(visit: Visit, claim_id: ClaimId, given: Attribution) -> None:
    await visit.console.steering.wake(claim_id, given)


async def _cancel(visit: Visit, claim_id: ClaimId, given: Attribution) -> None:
    although_sent = visit.field("although_sent") == "yes"
    found = await visit.console.steering.cancellable(claim_id, although_sent=although_sent)
    await visit.console.steering.cancel(found, given, although_sent=although_sent)


async def _steered(visit: Visit, order: Order, done: str) -> Response:
    """Carry an order out, signed by who asks; and back to the claim, with what came of it."""
    path = f"/claims/{quote(visit.request.path_params['claim_id'])}"
    why = visit.field("reason")
    given = attribution(visit.person.signature, why)
    if not given.reason or not is_text(why):
        return go(path, said="no_reason")
    try:
        await order(visit, ClaimId(visit.request.path_params["claim_id"]), given)
    except Unfinished:
        return go(path, said="later")
    except (ClaimRefusal, ValueError):
        return go(path, said="refused")
    return go(path, said=done)
