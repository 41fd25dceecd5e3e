"""One attempt to send one mail: begun in a commit, made without one, written down in another."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from time import perf_counter

from domain.errors import Trouble
from domain.mail.attempts import (
    AttemptBegun,
    AttemptTerms,
    AttemptUnderWay,
    MailDied,
    MailHeldBack,
    MailOver,
    MailWaits,
    begin,
    dead_letter_of,
    end,
    fail,
    has_died,
    is_same_attempt,
    is_untouched,
    may_leave,
    succeed,
)
from domain.mail.codes import MailFailure, OwnCode
from domain.mail.mail import Mail, MailState
from domain.mail.retry import is_expired
from domain.mail.sending import MailAnswerLost, MailGateway, MailNotSent, MailResult, MailSent
from domain.observations import MailAttempted, Observe, nobody_watches
from domain.ports import Clock
from domain.standing import HeldJob
from persistence.clock import asked_now
from persistence.database.trouble import DatabaseError
from persistence.encryption.cipher import Cipher
from persistence.repositories.mails import mail_context, open_mail
from persistence.store import Store, Transaction
from workers.claims.claim_ids import outward_id
from workers.mail.death_notices import DeathNotices
from workers.mail.facts import died_fact, sent_fact
from workers.mail.observing import Ended, observed, tell_broken, tell_held_back
from workers.mail.queueing import AT_ONCE, LEFT_BEHIND, MailQueue
from workers.mail.rendering import Renderer

SAID_AT_MOST = 1_000
TEXT_AWAITED = timedelta(hours=1)
"""So long after it was queued a mail waits for a worker that has its text: a newer one may be starting."""


class TextAwaited(Trouble):
    """A newer worker may have a mail's text, which this one has not; no attempt is spent."""

    def __init__(self) -> None:
        super().__init__(
            "This worker has no text of that name. A newer one may have it; if none does, the mail "
            "is a dead letter (NO_TEMPLATE) an hour after it was queued."
        )


@dataclass(frozen=True, slots=True)
class UnknownMail:
    """There is no such mail here."""


@dataclass(frozen=True, slots=True)
class MailHeld:
    """A limit leaves no room for it now; no attempt is spent."""

    wait: timedelta


Attempted = MailOver | MailDied | MailWaits | MailHeldBack | MailHeld | AttemptUnderWay | UnknownMail
AgreedPast = Callable[[datetime], None]
"""Raises trouble where clocks disagree whether a moment has passed."""
Admit = Callable[[Transaction, str, datetime], Awaitable[timedelta | None]]
"""Whether a mail of a company may begin in a transaction: None, or how long it has to wait."""


def clocks_agree(_moment: datetime) -> None:
    """There is one clock."""


async def everybody_goes(_tx: Transaction, _company_id: str, _now: datetime) -> timedelta | None:
    """There are no limits."""
    return None


@dataclass(frozen=True, slots=True)
class AttemptGiven:
    """An attempt that is asked for: at which mail, when, by which job; `agreed` doubts a moment."""

    outbox_id: str
    now: datetime
    job: HeldJob | None
    agreed: AgreedPast


@dataclass(frozen=True, slots=True)
class MailSender:
    """Sends queued mail by a gateway."""

    store: Store
    clock: Clock
    cipher: Cipher
    gateway: MailGateway
    renderer: Renderer
    queue: MailQueue
    terms: AttemptTerms
    observe: Observe = nobody_watches
    stopwatch: Callable[[], float] = perf_counter
    admit: Admit = everybody_goes

    @property
    def _notices(self) -> DeathNotices:
        return DeathNotices(self.queue, self.renderer.recipients)

    async def attempt(
        self, outbox_id: str, job: HeldJob | None = None, agreed: AgreedPast = clocks_agree
    ) -> Attempted:
        """Try once for a job, if the mail is still to be sent and nobody is sending it.

        While clocks disagree whether its time is over, it is neither sent late nor given up.
        """
        now, since = await self.clock.now(), self.stopwatch()
        given = AttemptGiven(outbox_id, now, job, agreed)
        begun = await self.store.run(lambda tx: self._begin(tx, given))
        ended = await self._made(begun.mail, now) if isinstance(begun, AttemptBegun) else begun
        if not isinstance(begun, MailOver):
            self._tell(ended, self.stopwatch() - since if isinstance(begun, AttemptBegun) else None)
        if isinstance(ended, MailDied):
            await self._notices.start(ended.mail)
        return ended

    async def _made(self, mail: Mail, now: datetime) -> Attempted:
        result = await self._send(mail, now)
        ended = min(await self.clock.now(), mail.sending_until or now)  # a clock that leapt ages no mail
        return await self.store.run_until_written(lambda tx: self._settle(tx, mail, result, ended))

    async def _begin(self, tx: Transaction, given: AttemptGiven) -> AttemptBegun | Attempted:
        mail, now = await tx.mails.lock(given.outbox_id), given.now
        if mail is None:
            return UnknownMail()
        if mail.state is MailState.PENDING:
            self._require_agreement(mail, given)
        begun = begin(mail, self.terms, now)
        if isinstance(begun, AttemptBegun):
            open_mail(self.cipher, mail.outbox_id, mail.sealed)  # without its key no attempt is spent
            if wait := await self.admit(tx, mail.company_id, now):
                return await _hold(tx, mail, given.job, wait)
            await tx.mails.save(begun.mail.in_hands_of(given.job))
        if isinstance(begun, MailDied):
            return await self._bury(tx, begun, now)
        return begun

    def _require_agreement(self, mail: Mail, given: AttemptGiven) -> None:
        """That its time is over, or is not, nobody doubts; nor that its text has been waited for."""
        given.agreed(mail.expires_at)
        if not self.renderer.knows(mail.template):
            given.agreed(mail.enqueued_at + TEXT_AWAITED)
            if given.now < mail.enqueued_at + TEXT_AWAITED:
                raise TextAwaited

    async def _send(self, mail: Mail, now: datetime) -> MailResult:
        """What came of it; an attempt that breaks was one, too, and is written down as that."""
        content = open_mail(self.cipher, mail.outbox_id, mail.sealed)
        try:
            rendered = self.renderer.render(mail, content, now)
            if isinstance(rendered, MailFailure):
                return MailNotSent(rendered)
            if not await self._may_leave(mail):
                return MailNotSent(MailFailure(OwnCode.STOOD_STILL))
            return await self.gateway.send(rendered)
        except Exception as error:
            tell_broken(mail, error)
            return MailNotSent(MailFailure(OwnCode.OWN_FAULT, said=str(error)))

    async def _may_leave(self, mail: Mail) -> bool:
        """Asked last of all: a worker may have stood still since it began, and its machine's clocks too."""

        async def look(tx: Transaction) -> bool:
            kept = await tx.mails.find(mail.outbox_id)
            return may_leave(mail, kept, self.terms, await asked_now(self.clock, tx))

        try:
            return await self.store.look(look)
        except DatabaseError:
            return False

    async def let_expire(self, now: datetime) -> list[Mail]:
        """Bury mails that wait although their time is over; which.

        Their process is gone, stands on an incident, or waits where nobody serves: no engine is asked.
        """
        before = now - LEFT_BEHIND
        overdue = await self.store.look(lambda tx: tx.mails.overdue(before, AT_ONCE))
        found = [await self._expired(mail.outbox_id, now) for mail in overdue]
        return [mail for mail in found if mail is not None]

    async def _expired(self, outbox_id: str, now: datetime) -> Mail | None:
        async def expire(tx: Transaction) -> MailDied | None:
            mail = await tx.mails.lock(outbox_id)
            if mail is None or not is_expired(mail.expires_at, now):
                return None
            died = begin(mail, self.terms, now)
            return await self._bury(tx, died, now) if isinstance(died, MailDied) else None

        return await self._told_of(await self.store.run(expire))

    async def _told_of(self, died: MailDied | None) -> Mail | None:
        if died is None:
            return None
        self._tell(died)
        await self._notices.start(died.mail)
        return died.mail

    async def give_up(self, seen: Mail, now: datetime) -> Mail | None:
        """Bury a mail whose process was ended before it was sent; None where it has gone on since."""

        async def bury(tx: Transaction) -> MailDied | None:
            mail = await tx.mails.lock(seen.outbox_id)
            died = end(mail, now) if mail is not None and is_untouched(mail, seen) else None
            return await self._bury(tx, died, now) if died else None

        return await self._told_of(await self.store.run(bury))

    async def _settle(self, tx: Transaction, begun: Mail, result: MailResult, now: datetime) -> Attempted:
        """Write down what came of it: that it was taken counts always, a failure if nobody went on since."""
        mail = await tx.mails.lock(begun.outbox_id) or begun
        match result:
            case MailSent(message_id):
                return await self._sent(tx, succeed(mail, message_id, now), may_lie=has_died(mail))
            case MailNotSent(failure) | MailAnswerLost(failure):
                return await self._failed(tx, mail, begun, failure, now)

    async def _sent(self, tx: Transaction, mail: Mail, *, may_lie: bool) -> MailOver:
        """It was taken; where a letter of it may lie among the dead, that goes."""
        await tx.mails.save(mail)
        if may_lie:
            await tx.dead_letters.remove([mail.outbox_id])
        await tx.outbox.add([sent_fact(mail)])
        return MailOver(mail)

    async def _failed(
        self, tx: Transaction, mail: Mail, begun: Mail, failure: MailFailure, now: datetime
    ) -> Attempted:
        if mail.state is not MailState.PENDING:
            return MailOver(mail)
        if not is_same_attempt(mail, begun):
            return AttemptUnderWay(mail.sending_until or now)
        said = self._sealed(mail, failure.said)
        after = fail(replace(mail, said=said), failure, self.terms.profile, now)
        if isinstance(after, MailDied):
            return await self._bury(tx, after, now)
        await tx.mails.save(after.mail)
        if isinstance(after, MailHeldBack):
            tell_held_back(mail, failure)
        return after

    def _sealed(self, mail: Mail, said: str) -> str | None:
        """A server's words, whatever bytes they were."""
        if not said:
            return None
        legible = said[:SAID_AT_MOST].encode(errors="replace").decode()
        return self.cipher.encrypt(legible, context=mail_context(mail.outbox_id))

    async def _bury(self, tx: Transaction, died: MailDied, now: datetime) -> MailDied:
        """Move a mail to the dead letters, if they have room, and tell people of it."""
        earlier = await tx.dead_letters.find(died.mail.outbox_id)
        has_room = await tx.dead_letters.add(dead_letter_of(died.mail, now, earlier))
        mail = replace(died.mail, dead_lettered_at=now if has_room else None)
        await tx.mails.save(mail)
        if mail.claim_id:
            await tx.journal.write(mail.claim_id, "mail_dead_lettered", died.move.reason, now=now)
        await tx.outbox.add([died_fact(mail, now)])
        await self._notices.add(tx, mail, now)
        return replace(died, mail=mail, came_back=earlier is not None)

    def _tell(self, ended: Attempted, seconds: float | None = None) -> None:
        if isinstance(ended, Ended) and (told := self._told(ended, seconds)):
            self.observe(told)

    def _told(self, ended: Ended, seconds: float | None) -> MailAttempted | None:
        attempted = observed(ended, self.terms.profile.max_attempts, seconds)
        if attempted is None or attempted.claim_id is None:
            return attempted
        return replace(attempted, claim_id=outward_id(self.cipher, attempted.claim_id))


async def _hold(tx: Transaction, mail: Mail, job: HeldJob | None, wait: timedelta) -> MailHeld:
    """Note who holds it, and until when the engine does: the watch brings it back if it is forgotten."""
    if job is not None:
        await tx.mails.save(mail.in_hands_of(replace(job, until=job.until + wait)))
    return MailHeld(wait)
