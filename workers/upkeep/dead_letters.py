"""Dead letters whose time is over go, counted and logged; mail that found no room for one moves in."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import structlog

from domain.mail.attempts import dead_letter_of
from domain.mail.mail import Mail, MailState
from persistence.repositories.dead_letters import WantedLetters
from persistence.store import Store, Transaction

BATCH = 500
log = structlog.get_logger(__name__)


async def expire_letters(store: Store, now: datetime) -> int:
    """Remove letters that have been here for their time to live, and let waiting ones in; how many went."""
    gone: Counter[str] = Counter()
    while batch := await store.run(lambda tx: _expire(tx, now)):
        gone.update(batch)
    if gone:
        log.warning("dead_letters_expired", letters=gone.total(), by_code=dict(gone))
    await move_in(store, now)
    return gone.total()


async def _expire(tx: Transaction, now: datetime) -> list[str]:
    due = await tx.dead_letters.expired(now, BATCH)
    await tx.dead_letters.remove([letter.outbox_id for letter in due])
    return [letter.last_failure_code or "-" for letter in due]


async def purge_letters(store: Store, wanted: WantedLetters, tell: Callable[[int], None]) -> int:
    """Remove letters that somebody wants gone, but none that is on its way; how many went."""
    at_rest, gone = replace(wanted, on_its_way=False), 0

    async def remove(tx: Transaction) -> int:
        batch = await tx.dead_letters.list(at_rest, limit=BATCH)
        return await tx.dead_letters.remove([letter.outbox_id for letter in batch])

    while number := await store.run(remove):
        gone += number
        tell(gone)
    return gone


async def move_in(store: Store, now: datetime) -> int:
    """Mail that failed while the dead letters were full becomes one, while there is room; how many did."""
    moved = 0
    for mail in await store.look(lambda tx: tx.mails.without_room(BATCH)):
        if not await store.run(lambda tx, mail=mail: _move(tx, mail.outbox_id, now)):  # type: ignore[misc]
            break
        moved += 1
    if moved:
        log.info("dead_letters_moved_in", mails=moved)
    return moved


async def _move(tx: Transaction, outbox_id: str, now: datetime) -> bool:
    mail = await tx.mails.lock(outbox_id)
    if mail is None or not _waits(mail):
        return True
    has_room = await tx.dead_letters.add(dead_letter_of(mail, now))
    if has_room:
        await tx.mails.save(replace(mail, dead_lettered_at=now))
    return has_room


def _waits(mail: Mail) -> bool:
    return mail.state is MailState.FAILED and mail.dead_lettered_at is None
