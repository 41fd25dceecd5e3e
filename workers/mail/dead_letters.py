"""Mail that found the dead letters full moves in when there is room again."""

from dataclasses import replace
from datetime import datetime

from domain.mail.attempts import dead_letter_of
from persistence.store import Store, Transaction

AT_ONCE = 500


async def move_in(store: Store, now: datetime) -> int:
    """Move in what found no room, oldest first, as far as there is some; how many did."""
    return await store.run(lambda tx: _move_in(tx, now))


async def _move_in(tx: Transaction, now: datetime) -> int:
    moved = 0
    for mail in await tx.mails.lock_without_room(AT_ONCE):
        if not await tx.dead_letters.add(dead_letter_of(mail, now)):
            break
        await tx.mails.save(replace(mail, dead_lettered_at=now))
        moved += 1
    return moved
