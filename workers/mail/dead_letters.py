"""Mail that found the dead letters full moves in when there is room again."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from domain.mail.attempts import dead_letter_of
from domain.mail.mail import Mail
from domain.observations import LetterMovedIn, Observe, nobody_watches
from persistence.store import Store, Transaction

AT_ONCE = 500


async def move_in(store: Store, now: datetime, observe: Observe = nobody_watches) -> int:
    """Move in what found no room, oldest first, as far as there is some; how many did."""
    moved = await store.run(lambda tx: _move_in(tx, now))
    for mail in moved:
        observe(LetterMovedIn(mail.company_id, mail.last_failure_code))
    return len(moved)


async def _move_in(tx: Transaction, now: datetime) -> Sequence[Mail]:
    moved: list[Mail] = []
    for mail in await tx.mails.without_room(AT_ONCE):
        if not await tx.dead_letters.add(dead_letter_of(mail, now)):
            break
        await tx.mails.save(replace(mail, dead_lettered_at=now))
        moved.append(mail)
    return moved
