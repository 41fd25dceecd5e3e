"""Removes what is past its period, batch by batch, so that no job waits long behind it."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from functools import partial

from persistence.retention import AREAS, Area, Periods
from persistence.store import Store, Transaction

BATCH = 500
BATCHES_AT_MOST = 200


async def remove_expired_records(store: Store, now: datetime, *, batch: int = BATCH) -> int:
    """RN-IdempotencyRecord's hourly clean-up."""
    removed = 0
    for _ in range(BATCHES_AT_MOST):
        gone = await store.run(lambda tx: tx.idempotency.delete_expired(now, batch))
        removed += gone
        if gone < batch:
            break
    return removed


async def set_due_anchors(store: Store, now: datetime) -> int:
    """Anchor every day that is over and settled; returns how many were set."""
    number = 0
    while await store.run(lambda tx: _set_next_anchor(tx, now)):
        number += 1
    return number


async def _set_next_anchor(tx: Transaction, now: datetime) -> bool:
    day = await tx.anchors.due(now)
    if day is not None:
        await tx.anchors.set(day, now=now)
    return day is not None


async def preview(store: Store, periods: Periods, now: datetime) -> Mapping[str, int]:
    """What would be removed now."""
    async with store.reading() as tx:
        return await tx.remains.count(periods, now=now)


async def apply(
    store: Store, periods: Periods, now: datetime, *, batch: int = BATCH, batches: int = BATCHES_AT_MOST
) -> Mapping[str, int]:
    """Remove what is due, at most so many batches; what is left waits for the next day."""
    removed: Counter[str] = Counter()
    for area in AREAS:
        remove = partial(_remove, area=area, periods=periods, now=now, limit=batch)
        gone = batch
        while gone == batch and batches > 0:
            gone = await store.run(remove)
            removed[area.name] += gone
            batches -= 1
    removed["error counts"] = await store.run(lambda tx: tx.remains.forget_statistics(periods, now=now))
    return removed


async def _remove(tx: Transaction, *, area: Area, periods: Periods, now: datetime, limit: int) -> int:
    return await tx.remains.remove(area, periods, now=now, limit=limit)
