"""Slots: moments at which one claim each may go to a payer, so that no herd ever arrives."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from domain.payer_status import PayerLimits, PayerStatus


@dataclass(frozen=True, slots=True)
class Wait:
    """A claim that waits for a payer: since when, for which slot, and when its timer ends."""

    claim_id: str
    payer_id: str
    since: datetime
    until: datetime
    slot_at: datetime | None = None
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """A waiting claim's moment."""

    claim_id: str
    at: datetime


def opening(limits: PayerLimits, moment: datetime) -> datetime:
    """The first moment from this one on that is in the payer's hours and under no maintenance."""
    for _ in range(2 * len(limits.windows) + 2):  # each round leaves a window, or enters the hours
        moment = max([moment, *(window.end for window in limits.windows if window.covers(moment))])
        if limits.hours is None:
            continue
        moment = limits.hours.next_opening(moment)
    return moment


def draw(status: PayerStatus, limits: PayerLimits, now: datetime) -> tuple[PayerStatus, datetime]:
    """The next slot in the lane of new claims; it is now when the payer is idle."""
    slot = opening(limits, latest(now, status.next_slot_at, status.not_before))
    drained = status.next_wait_slot_at
    if drained is None or slot >= drained:
        return replace(status, next_slot_at=slot + limits.interval), slot
    if limits.share >= 1:  # nothing is left for new claims until those that waited are through
        return draw(replace(status, next_slot_at=drained), limits, now)
    return replace(status, next_slot_at=slot + limits.interval / (1 - limits.share)), slot


def draw_waiting(status: PayerStatus, limits: PayerLimits, base: datetime) -> tuple[PayerStatus, datetime]:
    """The next slot from `base` on in the lane of claims that have to wait."""
    slot = opening(limits, latest(base, status.next_wait_slot_at))
    return replace(status, next_wait_slot_at=slot + limits.wait_interval), slot


def plan(
    status: PayerStatus, waits: Iterable[Wait], limits: PayerLimits, now: datetime
) -> tuple[PayerStatus, tuple[Slot, ...]]:
    """New slots for all that wait, nearest deadline first; older slots are void."""
    first = opening(limits, latest(now, status.not_before, status.paced_until) + limits.interval)
    status = replace(status, next_wait_slot_at=first, next_slot_at=first + limits.interval)
    slots = []
    for wait in sorted(waits, key=_urgency):
        status, at = draw_waiting(status, limits, first)
        slots.append(Slot(wait.claim_id, at))
    return (status if slots else without_slots(status, now)), tuple(slots)


def without_slots(status: PayerStatus, now: datetime) -> PayerStatus:
    """The status when all slots given so far are void; the pace of real sends is kept."""
    return replace(status, next_slot_at=latest(now, status.paced_until), next_wait_slot_at=None)


def latest(first: datetime, *others: datetime | None) -> datetime:
    """The last of these moments."""
    return max([first, *(moment for moment in others if moment)])


def _urgency(wait: Wait) -> tuple[bool, datetime, datetime, str]:
    return wait.deadline is None, wait.deadline or wait.since, wait.since, wait.claim_id
