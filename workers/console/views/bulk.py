"""Orders about many claims: what one would do, how far it has come, what came of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from domain.bulk_orders import BulkItemState, BulkState
from persistence.repositories.bulk_orders import BulkItem, BulkOrder, BulkProgress
from workers.claims.bulk_desk import BulkPreview, BulkShare
from workers.console.views.shapes import StateShape, StateView, Tone
from workers.console.views.states import payer_tone
from workers.console.views.times import Said, Times
from workers.console.words import Words

_STATES = {
    BulkState.PROPOSED: (Tone.WAITING, StateShape.PERSON),
    BulkState.RUNNING: (Tone.MOVING, StateShape.ARROW),
    BulkState.DONE: (Tone.DONE, StateShape.CHECK),
    BulkState.WITHDRAWN: (Tone.CALM, StateShape.DASH),
    BulkState.STOPPED: (Tone.CALM, StateShape.DASH),
}
_OVER = (BulkItemState.DONE, BulkItemState.UNCONFIRMED, BulkItemState.REFUSED, BulkItemState.SKIPPED)


@dataclass(frozen=True, slots=True)
class ShareRow:
    """One payer's part: as a sentence, and how the payer is where that matters."""

    text: str
    state: StateView | None


def preview_sentence(preview: BulkPreview, times: Times) -> str:
    """What will happen: how many, how fast, until when."""
    words, number = times.words, preview.number
    said = words.counted(f"bulk_will.{preview.action}", number)
    if not preview.action.sends_again or not number:
        return f"{said}."
    is_well = all(_is_well(share) for share in preview.shares)
    end = words("bulk.ends", at=times.at(preview.ends).text) if is_well else words("bulk.when_back")
    paces = {share.per_minute for share in preview.shares}
    pace = paces.pop() if len(paces) == 1 else None
    middle = words("bulk.pace", n=pace) if pace else ""
    return ", ".join(filter(None, (said, middle, end))) + "."


def share_rows(preview: BulkPreview, times: Times) -> Sequence[ShareRow]:
    """Each payer's part of what goes out; nothing where one payer that is well has all of it."""
    rows = [_share(share, times) for share in preview.shares] if preview.action.sends_again else []
    return rows if len(rows) > 1 or any(row.state for row in rows) else []


def _share(share: BulkShare, times: Times) -> ShareRow:
    words = times.words
    pace = words("bulk.pace", n=share.per_minute) if share.per_minute else words("bulk.no_pace")
    ends = words("bulk.ends", at=times.at(share.ends).text) if _is_well(share) else words("bulk.when_back")
    text = f"{share.payer_id}: {words.counted('claims.found', share.number)}, {pace}, {ends}"
    state = StateView(*payer_tone(share.state), words(f"payer_state.{share.state}"))
    return ShareRow(text, None if _is_well(share) else state)


def _is_well(share: BulkShare) -> bool:
    """Nobody knows when the last goes to a payer that takes none."""
    return payer_tone(share.state)[0] is Tone.DONE


@dataclass(frozen=True, slots=True)
class NotDoneRow:
    """A claim that did not go on."""

    claim_id: str
    why: str


@dataclass(frozen=True, slots=True)
class BulkView:
    """An order as people see it."""

    bulk_id: int
    title: str
    state: StateView
    is_over: bool
    is_proposed: bool
    number: int
    done: int
    unconfirmed: int
    not_done: int
    left: int
    why_not: tuple[tuple[str, int], ...]
    by: str
    second: str
    reason: str
    at: Said
    ended: Said | None
    ends: Said | None
    selection: str

    @property
    def over(self) -> int:
        """How many claims nothing more comes to."""
        return self.number - self.left


def bulk_view(order: BulkOrder, progress: BulkProgress, times: Times) -> BulkView:
    """One order with what came of it so far."""
    words = times.words
    is_going_on = order.state is BulkState.RUNNING and progress.last_due is not None
    return BulkView(
        bulk_id=order.bulk_id,
        title=words.counted(f"bulk_did.{order.action}", order.number),
        state=StateView(*_STATES[order.state], words(f"bulk_state.{order.state}")),
        is_over=order.state.is_over,
        is_proposed=order.state is BulkState.PROPOSED,
        number=order.number,
        done=progress.of(BulkItemState.DONE),
        unconfirmed=progress.of(BulkItemState.UNCONFIRMED),
        not_done=progress.of(BulkItemState.REFUSED, BulkItemState.SKIPPED),
        left=order.number - progress.of(*_OVER),
        why_not=tuple((words(f"not_done.{why}"), number) for why, number in progress.not_done.items()),
        by=order.ordered_by,
        second=order.confirmed_by or "",
        reason=order.reason,
        at=times.at(order.ordered_at),
        ended=times.at(order.ended_at) if order.ended_at else None,
        ends=times.at(max(progress.last_due, times.now)) if is_going_on and progress.last_due else None,
        selection=order.selection,
    )


def not_done_rows(items: Iterable[BulkItem], words: Words) -> Sequence[NotDoneRow]:
    """Claims that did not go on, and why."""
    return [NotDoneRow(item.claim_id, words(f"not_done.{item.why}")) for item in items if item.why]
