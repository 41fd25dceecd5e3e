"""Slots: moments at which one claim each may go to a payer, so that no herd ever arrives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from domain.payer_status import PayerLimits, PayerStatus

UNPACED = timedelta(milliseconds=10)
"""From one who waited to the next at a payer without a pace: they need not come all at once."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A claim that waits for a payer: since when, for which slot, and when its timer ends.

    `woken_at` is when its slot was given. A slot of an earlier time of health is void: see `slot_of`.
    """

    claim_id: str
    payer_id: str
    since: datetime
    until: datetime
    slot_at: datetime | None = None
    deadline: datetime | None = None
    woken_at: datetime | None = None


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


def slot_of(wait: Wait, status: PayerStatus) -> datetime | None:
    """The claim's slot, if it was given since the payer's state last changed."""
    given = wait.woken_at is not None and wait.woken_at >= status.changed_at
    return wait.slot_at if given else None


def draw(status: PayerStatus, limits: PayerLimits, base: datetime) -> tuple[PayerStatus, datetime]:
    """The next slot from `base` on in the lane of new claims: a part of the pace while others wait."""
    slot = opening(limits, latest(base, status.next_slot_at, status.not_before))
    part = 1 if status.slots_until is None else 1 - limits.share
    return replace(status, next_slot_at=slot + limits.interval / part), slot


def draw_waiting(status: PayerStatus, limits: PayerLimits, base: datetime) -> tuple[PayerStatus, datetime]:
    """The next slot from `base` on for a claim that had to wait: the whole pace where no new ones are."""
    slot = opening(limits, latest(base, status.slots_until, status.not_before))
    is_shared = status.next_slot_at is not None and slot < status.next_slot_at
    step = limits.wait_interval if is_shared else limits.interval
    return replace(status, slots_until=slot + (step or UNPACED)), slot


def draw_timer(status: PayerStatus, limits: PayerLimits, base: datetime) -> tuple[PayerStatus, datetime]:
    """When a claim without a slot comes back by itself: one after the other, as all may have to."""
    timer = opening(limits, latest(base, status.next_wait_slot_at))
    return replace(status, next_wait_slot_at=timer + limits.wait_interval), timer


def give(
    status: PayerStatus, waits: Sequence[Wait], limits: PayerLimits, now: datetime
) -> tuple[PayerStatus, tuple[Slot, ...]]:
    """Slots for the next that wait, in their order; when nobody does, new claims have the whole pace."""
    if not waits:
        return replace(status, slots_until=None, next_wait_slot_at=None), ()
    slots = []
    for wait in waits:
        status, at = draw_waiting(status, limits, now)
        slots.append(Slot(wait.claim_id, at))
    return status, tuple(slots)


def with_new_lanes(status: PayerStatus, limits: PayerLimits, now: datetime) -> PayerStatus:
    """The status of a payer that has become free: slots begin anew, after the sends made so far."""
    first = latest(now, status.paced_until) + limits.interval
    return replace(status, next_slot_at=None, slots_until=first if status.slots_until else None)


def latest(first: datetime, *others: datetime | None) -> datetime:
    """The last of these moments."""
    return max([first, *(moment for moment in others if moment)])
