"""A sealed trail for people: what each record says, and whether it is as it was."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.deadline_changes import read_change
from persistence.audit.chain import AuditEvent
from persistence.audit.claim_seal import JudgedEvent, SealState
from persistence.audit.event_data import event_data
from persistence.audit.notes import NOTED
from persistence.repositories.operator_orders import ORDERED, KeptOrder
from workers.console.views.shapes import StateShape, StateView, Tone
from workers.console.views.times import Said, Times
from workers.console.words import Words

OF_ROLES = frozenset({"person add", "person roles"})
"""Orders whose reason is a login and its roles."""
SEALS = {
    SealState.WHOLE: (Tone.DONE, StateShape.CHECK),
    SealState.UNPROVEN: (Tone.WAITING, StateShape.WARNING),
    SealState.BROKEN: (Tone.STOPPED, StateShape.WARNING),
    SealState.EMPTY: (Tone.CALM, StateShape.DASH),
}


@dataclass(frozen=True, slots=True)
class TrailLine:
    """One record: its place, what happened, by whom where a person did, and the record itself."""

    number: int
    at: Said
    what: str
    by: str
    seal: StateView
    facts: Sequence[tuple[str, str]]
    hash: str


@dataclass(frozen=True, slots=True)
class OrderRow:
    """An order of a person, about whatever."""

    at: Said | None
    by: str
    action: str
    about: str
    link: str
    reason: str
    is_refused: bool


def seal_view(state: SealState, name: str, words: Words) -> StateView:
    """What a look says; `name` is where its words stand."""
    return StateView(*SEALS[state], words(f"{name}.{state}"))


def trail_lines(events: Sequence[JudgedEvent], times: Times) -> Sequence[TrailLine]:
    """The records, newest first."""
    return [_line(one, times) for one in reversed(events)]


def _line(one: JudgedEvent, times: Times) -> TrailLine:
    event, data = one.event, event_data(one.event)
    action, why = (str(data.get(name) or "") for name in ("action", "reason"))
    by, reason = data.get("by"), reason_told(action, why, times.words)
    said = f"{by}: “{reason}”" if by and reason else str(by or "")
    return TrailLine(
        number=event.sequence,
        at=times.at(event.at),
        what=_what(event, data, times.words),
        by=said,
        seal=seal_view(one.seal, "seal_of_one", times.words),
        facts=[(name, _told(value)) for name, value in sorted(data.items())],
        hash=event.hash,
    )


def _what(event: AuditEvent, data: dict[str, object], words: Words) -> str:
    names = [f"audit_event.{event.event}"]
    if event.event == NOTED:
        noted = str(data.get("event", ""))
        names = [f"audit_note.{noted}", f"event.{noted}"]
    said = next((words(name) for name in names if words.knows(name)), words("audit_event.other"))
    more = _more(data, words) if event.event == NOTED else ""
    return f"{said}: {more}" if more else said


def _more(data: dict[str, object], words: Words) -> str:
    """What was ordered, or how a payer's state changed."""
    if data.get("event") == ORDERED:
        return action_name(str(data.get("action", "")), words)
    states = [f"strip.{data.get(name)}" for name in ("from", "to")]
    return " → ".join(words(name) for name in states) if all(map(words.knows, states)) else ""


def _told(value: object) -> str:
    return "" if value is None else str(value)


def order_rows(orders: Sequence[KeptOrder], times: Times) -> Sequence[OrderRow]:
    """Orders, newest first."""
    return [_order(order, times) for order in reversed(orders)]


def _order(order: KeptOrder, times: Times) -> OrderRow:
    words = times.words
    about = order.claim_id or order.payer_id
    kind = "claim" if order.claim_id else "payer"
    return OrderRow(
        at=times.at(order.at) if order.at else None,
        by=order.ordered_by,
        action=action_name(order.action, words),
        about=about,
        link=kind if about else "",
        reason=reason_told(order.action, order.reason, words),
        is_refused=order.refused_at is not None,
    )


def reason_told(action: str, reason: str, words: Words) -> str:
    """Why, as it was written; who was given which roles with the roles' names."""
    login, apart, roles = reason.partition(": ")
    if action not in OF_ROLES or not apart:
        return reason
    return f"{login}: {', '.join(_role(one, words) for one in roles.split(', '))}"


def _role(name: str, words: Words) -> str:
    return words(f"role.{name}") if words.knows(f"role.{name}") else name


def action_name(action: str, words: Words) -> str:
    """An order in words; of letters and people by its beginning."""
    plain = action.replace(" ", "_")
    parts = action.split()
    beginnings = [
        f"did.{'_'.join((*parts[:1], *parts[-1:]))}",
        *(f"did.{'_'.join(parts[:n])}" for n in (2, 1)),
    ]
    if read_change(action):
        return words("order_of.deadline")
    names = [f"order_of.{plain}", f"payer_order.{plain}", *beginnings]
    return next((words(name) for name in names if words.knows(name)), words("order_of.other"))
