"""What a person orders of dead letters, whoever asks for it: on record with who, why, which and how many."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from domain.legible import legible
from domain.mail.dead_letters import DeadLetter
from domain.mail.mail import Mail, MailContent
from domain.mail.redrive import RedriveEnd
from domain.operators import Attribution, operator_text
from persistence.encryption.cipher import Cipher
from persistence.repositories.dead_letters import WantedLetters
from persistence.repositories.mails import mail_context, open_mail
from persistence.store import Store
from workers.claims.ordering import Subject, ordered
from workers.mail.dead_letters import move_in
from workers.mail.redrive import Redrive, RedriveTally, unopened
from workers.upkeep.dead_letters import purge_letters

ACTION_MAX = 64


@dataclass(frozen=True, slots=True)
class LetterOrder:
    """An order about letters: who and why, when, which ones and how many."""

    given: Attribution
    now: datetime
    wanted: WantedLetters
    number: int

    def named(self, what: str) -> str:
        """The order as it is kept."""
        which = " ".join(part for part in (self.wanted.code, self.wanted.company_id) if part)
        return operator_text(f"dlq {what} of {self.number}{f', {which}' if which else ''}", ACTION_MAX)


@dataclass(frozen=True, slots=True)
class Redrivable:
    """Letters that can be sent again, and how many nobody here can open."""

    ids: tuple[str, ...]
    unreadable: int


@dataclass(frozen=True, slots=True)
class Purged:
    """How many letters went, and how many mails moved into the room they left."""

    gone: int
    moved_in: int


@dataclass(frozen=True, slots=True)
class OpenedLetter:
    """What a letter was to say, and the server's last words on it."""

    content: MailContent
    said: str


async def redrivable(store: Store, cipher: Cipher, wanted: WantedLetters) -> Redrivable:
    """Which letters can be sent again now."""
    found = await store.look(lambda tx: tx.dead_letters.to_redrive(wanted))
    closed = await unopened(store, cipher, found)
    return Redrivable(tuple(one for one in found if one not in closed), len(closed))


async def redrive_letters(
    run: Redrive, ids: Sequence[str], order: LetterOrder
) -> tuple[RedriveTally, RedriveEnd]:
    """Send letters again, wave by wave."""
    async with ordered(run.store, order.named("redrive"), Subject(), order.given, order.now):
        return await run.run(ids)


async def purge_on_record(store: Store, order: LetterOrder, tell: Callable[[int], None]) -> Purged:
    """Remove letters, but none that is on its way; what found no room before moves in."""
    async with ordered(store, order.named("purge"), Subject(), order.given, order.now):
        gone = await purge_letters(store, order.wanted, tell)
    return Purged(gone, await move_in(store, order.now))


async def open_letter(
    store: Store, cipher: Cipher, found: tuple[DeadLetter, Mail | None], looking: tuple[Attribution, datetime]
) -> OpenedLetter:
    """What a letter says; that somebody looked, and why, is kept first."""
    (letter, mail), (given, now) = found, looking
    context = mail_context(letter.outbox_id)
    async with ordered(store, f"dlq show {letter.outbox_id}", Subject(), given, now):
        content = open_mail(cipher, letter.outbox_id, letter.original_data)
        said = cipher.decrypt(mail.said, context=context) if mail and mail.said else ""
        return OpenedLetter(content, legible(said))
