"""Removes what is past its period, batch by batch, so that no job waits long behind it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from domain.retention import Periods
from persistence.retention import AREAS, ERROR_COUNTS, Area
from persistence.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class RemovalLimits:
    """How many rows go in one transaction, and how many such batches of each area in one run."""

    batch: int = 500
    batches: int = 200


LIMITS = RemovalLimits()


async def remove_expired_records(store: Store, now: datetime) -> int:
    """RN-IdempotencyRecord's hourly clean-up."""
    removed = 0
    for _ in range(LIMITS.batches):
        gone = await store.run(lambda tx: tx.idempotency.delete_expired(now, LIMITS.batch))
        removed += gone
        if gone < LIMITS.batch:
            break
    return removed


async def set_due_anchors(store: Store, now: datetime) -> int:
    """Anchor every day that is over and settled; returns how many were set."""
    last = await store.run(lambda tx: tx.audit.settled())
    number = 0
    while await store.run(lambda tx: _set_next_anchor(tx, now, last)):
        number += 1
    return number


async def _set_next_anchor(tx: Transaction, now: datetime, last_event: int) -> bool:
    day = await tx.anchors.due(now)
    if day is not None:
        await tx.anchors.set(day, now=now, last_event=last_event)
    return day is not None


async def preview(store: Store, periods: Periods, now: datetime) -> Mapping[str, int]:
    """What would be removed now."""
    async with store.reading() as tx:
        return await tx.expired.count(periods, now=now)


async def apply(
    store: Store, periods: Periods, now: datetime, *, limits: RemovalLimits = LIMITS
) -> Mapping[str, int]:
    """Remove what is due, at most so many batches of each area; what is left waits for the next day.

    The areas take turns, so that a run that is cut short leaves none of them behind. What the removed
    decisions are counted into is not due before the next run: a dry run tells what a run removes.
    """
    forgotten = await store.run(lambda tx: tx.expired.forget_statistics(periods, now=now))
    removed: Counter[str] = Counter()

    async def has_more(area: Area) -> bool:
        gone = await store.run(lambda tx: tx.expired.remove(area, periods, now=now, limit=limits.batch))
        removed[area.name] += gone
        return gone == limits.batch

    unfinished: Sequence[Area] = AREAS
    for _ in range(limits.batches):
        unfinished = [area for area in unfinished if await has_more(area)]
    removed[ERROR_COUNTS] = forgotten
    return removed
