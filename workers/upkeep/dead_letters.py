"""Dead letters whose time is over, or that somebody wants gone; what found no room before moves in."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import structlog

from domain.observations import Observe, nobody_watches
from persistence.repositories.dead_letters import WantedLetters
from persistence.store import Store, Transaction
from workers.mail.dead_letters import move_in

BATCH = 500
log = structlog.get_logger(__name__)


async def expire_letters(store: Store, now: datetime, observe: Observe = nobody_watches) -> int:
    """Remove letters that have been here for their time to live, and let waiting ones in; how many went."""
    gone: Counter[str] = Counter()
    while batch := await store.run(lambda tx: _expire(tx, now)):
        gone.update(batch)
    if gone:
        log.warning("dead_letters_expired", letters=gone.total(), by_code=dict(gone))
    await move_in(store, now, observe)
    return gone.total()


async def _expire(tx: Transaction, now: datetime) -> list[str]:
    due = await tx.dead_letters.expired(now, BATCH)
    await tx.dead_letters.remove([letter.outbox_id for letter in due], on_its_way=False)
    return [letter.last_failure_code or "-" for letter in due]


async def purge_letters(store: Store, wanted: WantedLetters, tell: Callable[[int], None]) -> int:
    """Remove letters that somebody wants gone, but none that is on its way; how many went."""
    at_rest, gone = replace(wanted, on_its_way=False), 0

    async def remove(tx: Transaction) -> int:
        batch = await tx.dead_letters.list(at_rest, limit=BATCH)
        return await tx.dead_letters.remove([letter.outbox_id for letter in batch], on_its_way=False)

    while number := await store.run(remove):
        gone += number
        tell(gone)
    return gone
