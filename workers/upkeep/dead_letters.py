"""Dead letters whose time is over, or that somebody wants gone; what found no room before moves in."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from domain.observations import Observe, nobody_watches
from persistence.repositories.dead_letters import WantedLetters
from persistence.store import Store, Transaction
from workers.mail.dead_letters import move_in

BATCH = 500
STRAY_AFTER = timedelta(hours=1)
"""So long after it was brought back, a letter whose mail is on no way any more has lost it."""
log = structlog.get_logger(__name__)


async def expire_letters(store: Store, now: datetime, observe: Observe = nobody_watches) -> int:
    """Remove letters that have been here for their time to live, and let waiting ones in; how many went."""
    await _lay_to_rest(store, now)
    gone: Counter[str] = Counter()
    while batch := await store.run(lambda tx: _expire(tx, now)):
        gone.update(batch)
    if gone:
        log.warning("dead_letters_expired", letters=gone.total(), by_code=dict(gone))
    await move_in(store, now, observe)
    return gone.total()


async def _lay_to_rest(store: Store, now: datetime) -> None:
    """A letter that lost its mail would stay on its way for ever: nobody could remove it or send it again."""
    number = await store.run(lambda tx: tx.dead_letters.lay_to_rest(redriven_before=now - STRAY_AFTER))
    if number:
        log.warning("dead_letters_stray", letters=number)


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
