"""What is done about a claim beside its way: another deadline, a legal hold, a look at the payer's words."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from starlette.responses import Response

from domain.access import Permission
from domain.claim import ClaimId
from domain.deadline_changes import read_change
from domain.legible import is_text
from domain.operators import Attribution, attribution
from domain.refusals import ClaimRefusal, Refusal
from domain.undoing import HOLD, RELEASE, may_be_undone
from persistence.encryption.cipher import CipherError
from persistence.repositories.claims import ClaimRow
from persistence.repositories.legal_holds import LegalHold
from persistence.repositories.operator_orders import KeptOrder
from persistence.store import Transaction
from workers.claims.holding import hold_claim, release_claim, undo_hold
from workers.claims.words import ReadText, kept_words, read_words
from workers.console.pages.claim_review import done_about
from workers.console.pages.visit import Visit, go, times_of
from workers.console.views.claim_story import change_sentence
from workers.console.views.times import Said

SAID = frozenset(
    {"deadline", "deadline_woken", "deadline_back", "held", "released", "hold_back"}
    | {"deadline_form", "deadline_past", "deadline_far", "no_words", "sealed"}
)
DONE = frozenset({"deadline", "deadline_woken", "deadline_back", "held", "released", "hold_back"})
Undo = Callable[[ClaimId, int, Attribution], Awaitable[object]]
_WRONG_DEADLINE = {"ISO 8601": "deadline_form", "a deadline lies ahead": "deadline_past"}


@dataclass(frozen=True, slots=True)
class Cared:
    """What is on record of a claim beside its way: its hold, and how many texts of others are kept."""

    hold: LegalHold | None
    texts: int


@dataclass(frozen=True, slots=True)
class UndoOffer:
    """What may be taken back, and where that is asked for."""

    path: str
    order_id: int
    text: str


@dataclass(frozen=True, slots=True)
class ReadWords:
    """One text of somebody else, for who said why."""

    at: Said
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class CareParts:
    """What the page says of it, and what who asks may do."""

    hold: LegalHold | None
    held_since: Said | None
    texts: int
    deadline: str
    may_change_deadline: bool
    may_hold: bool
    may_read: bool
    undo: Sequence[UndoOffer]

    @property
    def may_act(self) -> bool:
        """Whether anything is offered."""
        return self.may_change_deadline or self.may_hold or self.may_read


async def look_at_care(tx: Transaction, claim_id: str) -> Cared:
    """What the page shows of it."""
    return Cared(await tx.holds.find(claim_id), await tx.free_texts.count(claim_id))


def care_parts(visit: Visit, claim: ClaimRow, cared: Cared, orders: Sequence[KeptOrder]) -> CareParts:
    """The same for the page."""
    times, zone = times_of(visit), visit.console.zone
    due = claim.deadline.astimezone(zone).strftime("%Y-%m-%dT%H:%M") if claim.deadline else ""
    is_open = not claim.state.is_final and claim.process_instance_key is not None
    return CareParts(
        hold=cared.hold,
        held_since=times.at(cared.hold.placed_at) if cared.hold else None,
        texts=cared.texts,
        deadline=due,
        may_change_deadline=visit.may(Permission.CHANGE_DEADLINES) and is_open,
        may_hold=visit.may(Permission.HOLD_CLAIMS),
        may_read=visit.may(Permission.READ_PAYERS_WORDS) and cared.texts > 0,
        undo=[*_undo(visit, orders)],
    )


def _undo(visit: Visit, orders: Sequence[KeptOrder]) -> Iterator[UndoOffer]:
    """The newest change of the deadline, and the newest of the hold, while they are young."""
    young = [one for one in orders if one.refused_at is None and may_be_undone(one.at, visit.now)]
    deadlines = [(one.order_id, found) for one in young if (found := read_change(one.action))]
    if deadlines and visit.may(Permission.CHANGE_DEADLINES):
        order_id, change = deadlines[-1]
        yield UndoOffer("deadline/undo", order_id, change_sentence(change, times_of(visit)))
    holds = [one for one in young if one.action in (HOLD, RELEASE)]
    if holds and visit.may(Permission.HOLD_CLAIMS):
        yield UndoOffer("hold/undo", holds[-1].order_id, visit.words(f"order_of.{holds[-1].action}"))


async def change_deadline(visit: Visit) -> Response:
    """Another deadline; what is wrong with it is told by its rule."""
    done = "deadline"

    async def work(claim_id: ClaimId, given: Attribution) -> None:
        nonlocal done
        changed = await visit.console.deadlines.change(claim_id, visit.field("to"), given)
        done = "deadline_woken" if changed.is_woken else "deadline"

    try:
        answer = await done_about(visit, work, "deadline")
    except Refusal as wrong:
        return go(_path(visit), said=_WRONG_DEADLINE.get(wrong.rule, "deadline_far"))
    return answer if done == "deadline" else go(_path(visit), said=done)


async def undo_deadline(visit: Visit) -> Response:
    """The deadline before."""
    return await _undone(visit, visit.console.deadlines.undo, "deadline_back")


async def hold(visit: Visit) -> Response:
    """Nothing of the claim is removed from now on."""

    async def work(claim_id: ClaimId, given: Attribution) -> None:
        await hold_claim(visit.console.store, claim_id, given, visit.now)

    return await done_about(visit, work, "held")


async def release(visit: Visit) -> Response:
    """What is past its period may go again."""

    async def work(claim_id: ClaimId, given: Attribution) -> None:
        await release_claim(visit.console.store, claim_id, given, visit.now)

    return await done_about(visit, work, "released")


async def undo_holding(visit: Visit) -> Response:
    """Held or not, as before."""

    async def undo(claim_id: ClaimId, order_id: int, given: Attribution) -> None:
        await undo_hold(visit.console.store, claim_id, (order_id, given), visit.now)

    return await _undone(visit, undo, "hold_back")


async def words_of_claim(visit: Visit) -> Sequence[ReadWords] | Response:
    """What payers and models wrote, for who says why; or where to go instead."""
    why = visit.field("reason")
    given = attribution(visit.person.signature, why)
    if not given.reason or not is_text(why):
        return go(_path(visit), said="no_reason")
    try:
        return [_shown(one, visit) for one in await _read(visit, given)] or go(_path(visit), said="no_words")
    except CipherError:
        return go(_path(visit), said="sealed")
    except ValueError:
        return go(_path(visit), said="refused")


async def _read(visit: Visit, given: Attribution) -> Sequence[ReadText]:
    store, cipher = visit.console.store, visit.console.reviews.intake.cipher
    kept = await kept_words(store, ClaimId(visit.request.path_params["claim_id"]))
    return await read_words(store, cipher, kept, (given, visit.now)) if kept else ()


def _shown(one: ReadText, visit: Visit) -> ReadWords:
    return ReadWords(times_of(visit).at(one.at), visit.words(f"care.by_{one.source}"), one.text)


async def _undone(visit: Visit, undo: Undo, done: str) -> Response:
    named = visit.field("order")[:18]
    order_id = int(named) if named.isascii() and named.isdigit() else 0
    given = attribution(visit.person.signature, visit.words("care.undo_reason", n=order_id))
    try:
        await undo(ClaimId(visit.request.path_params["claim_id"]), order_id, given)
    except (ClaimRefusal, ValueError):
        return go(_path(visit), said="refused")
    return go(_path(visit), said=done)


def _path(visit: Visit) -> str:
    return f"/claims/{quote(visit.request.path_params['claim_id'])}"
