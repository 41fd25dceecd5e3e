"""Dead letters on their way again: wave by wave, each judged by what became of its mails.

A letter stays where it is until its mail has arrived: a redrive that is cut leaves mails that go on by
themselves, and letters that the next redrive takes up.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog

from domain.mail.dead_letters import DeadLetter
from domain.mail.mail import MAIL_LIFE, Mail, MailState
from domain.mail.redrive import (
    FailsAgain,
    NextWave,
    NothingHappens,
    RedriveEnd,
    RedriveTerms,
    Wave,
    WaveUnderWay,
    after_wave,
    next_wave,
)
from domain.ports import Clock
from persistence.encryption.cipher import Cipher
from persistence.repositories.mails import mail_context, open_mail
from persistence.store import Store, Transaction
from workers.mail.queueing import MailQueue

LOOK = timedelta(milliseconds=250)
CLAIM_ID = "claimId"
NO_WAVE = Wave(0, 0)
PAGE = 500
Pause = Callable[[float], Awaitable[None]]
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RedriveTally:
    """How a redrive of `wanted` letters stands: the wave it is in, and what came of those before it.

    `passed_over` were gone, or on their way by another's order, when their turn came.
    """

    wanted: int
    wave: Wave = NO_WAVE
    sent_before: int = 0
    failed_before: int = 0
    passed_over: int = 0

    @property
    def sent(self) -> int:
        """How many have arrived."""
        return self.sent_before + self.wave.sent

    @property
    def failed(self) -> int:
        """How many have failed again."""
        return self.failed_before + self.wave.failed

    @property
    def left(self) -> int:
        """How many have not been touched."""
        return self.wanted - self.sent - self.failed - self.passed_over - self.wave.under_way

    def with_wave(self, wave: Wave, passed_over: int) -> "RedriveTally":
        """The tally in a new wave, before which so many more were passed over."""
        return RedriveTally(self.wanted, wave, self.sent, self.failed, self.passed_over + passed_over)


def _nobody_listens(_tally: RedriveTally) -> None:
    """For who asks at the end only."""


@dataclass(frozen=True, slots=True)
class Redrive:
    """Brings letters back; `tell` hears how it goes."""

    store: Store
    queue: MailQueue
    clock: Clock
    pause: Pause
    terms: RedriveTerms = field(default_factory=RedriveTerms)
    tell: Callable[[RedriveTally], None] = _nobody_listens

    async def run(self, outbox_ids: Sequence[str]) -> tuple[RedriveTally, RedriveEnd]:
        """Bring these back, until none is left or it is no use."""
        tally, left = RedriveTally(len(outbox_ids)), list(outbox_ids)
        step: NextWave | RedriveEnd = next_wave(1, len(left), self.terms)
        while isinstance(step, NextWave):
            taken, left = left[: step.size], left[step.size :]
            tally, step = await self._wave(tally, step.number, taken)
        log.info("dead_letters_redriven", **_counted(tally), end=type(step).__name__)
        return tally, step

    async def _wave(
        self, before: RedriveTally, number: int, taken: Sequence[str]
    ) -> tuple[RedriveTally, NextWave | RedriveEnd]:
        """Bring a wave back, no faster than it may leave, and watch it; one that fails stops on the way."""
        brought: list[str] = []
        for begin in range(0, len(taken), self.terms.at_once):
            if begin or number > 1:
                await self.pause(self.terms.pause.total_seconds())
            if begin:
                tally = await self._told(
                    before.with_wave(Wave(number, len(brought)), begin - len(brought)), brought
                )
                planned = replace(tally.wave, size=len(taken))
                if isinstance(stop := after_wave(planned, tally.left, self.terms), FailsAgain):
                    return tally, stop
            together = taken[begin : begin + self.terms.at_once]
            brought += await bring_back(self.store, self.queue, together, await self.clock.now())
        wave = Wave(number, len(brought))
        return await self._watch(before.with_wave(wave, len(taken) - len(brought)), brought)

    async def _told(self, tally: RedriveTally, brought: Sequence[str]) -> RedriveTally:
        """The tally as its wave stands now; whoever listens hears it."""
        seen = replace(tally, wave=await self._seen(tally.wave, brought))
        self.tell(seen)
        return seen

    async def _watch(
        self, tally: RedriveTally, brought: Sequence[str]
    ) -> tuple[RedriveTally, NextWave | RedriveEnd]:
        """Look until the wave is over, fails, or shows nothing new for too long."""
        quiet = timedelta()
        while True:
            seen = await self._told(tally, brought)
            quiet = timedelta() if seen != tally else quiet + LOOK
            tally = seen
            step = after_wave(tally.wave, tally.left, self.terms)
            if not isinstance(step, WaveUnderWay):
                return tally, step
            if quiet >= self.terms.patience:
                return tally, NothingHappens(tally.wave)
            await self.pause(LOOK.total_seconds())

    async def _seen(self, wave: Wave, brought: Sequence[str]) -> Wave:
        states = list((await self.store.look(lambda tx: tx.mails.states(brought))).values())
        return replace(wave, sent=states.count(MailState.SENT), failed=states.count(MailState.FAILED))


async def unopened(store: Store, cipher: Cipher, outbox_ids: Sequence[str]) -> frozenset[str]:
    """Those of the letters that nobody here can open: their key is missing, or they were changed."""
    closed: set[str] = set()
    for begin in range(0, len(outbox_ids), PAGE):
        page = outbox_ids[begin : begin + PAGE]
        kept = await store.look(lambda tx, page=page: tx.dead_letters.sealed(page))  # type: ignore[misc]
        closed |= {one for one, data in kept.items() if not cipher.opens(data, context=mail_context(one))}
    return frozenset(closed)


async def bring_back(store: Store, queue: MailQueue, outbox_ids: Sequence[str], now: datetime) -> list[str]:
    """Send letters on their way again, in one commit; which: not those gone, on their way, or unreadable.

    Their processes are asked for after it; what the engine does not hear of then, upkeep tells it.
    """

    async def requeue(tx: Transaction) -> list[Mail]:
        found = [await _requeued(tx, queue, outbox_id, now) for outbox_id in sorted(outbox_ids)]
        mails = [mail for mail in found if mail is not None]
        await tx.dead_letters.redriven([mail.outbox_id for mail in mails], now=now)
        return mails

    mails = await store.run(requeue)
    await queue.start(mails, now)
    return [mail.outbox_id for mail in mails]


async def _requeued(tx: Transaction, queue: MailQueue, outbox_id: str, now: datetime) -> Mail | None:
    """The mail, held and PENDING again in the lane that its company has today; None if it may not be."""
    mail, letter = await tx.mails.lock(outbox_id), await tx.dead_letters.find(outbox_id)
    if letter is None or letter.redriven_at is not None or not _opens(queue, letter):
        return None
    lane = await tx.mail_lanes.assign(letter.company_id, queue.lanes, now=now)
    if mail is None:
        rebuilt = _rebuilt(queue, letter, lane, now)
        return rebuilt if await tx.mails.add(rebuilt) else None
    if mail.state is not MailState.FAILED:
        return None
    again = replace(mail.requeued(now), lane=lane)
    await tx.mails.save(again)
    return again


def _opens(queue: MailQueue, letter: DeadLetter) -> bool:
    return queue.cipher.opens(letter.original_data, context=mail_context(letter.outbox_id))


def _rebuilt(queue: MailQueue, letter: DeadLetter, lane: str, now: datetime) -> Mail:
    """The mail from its dead letter: retention may have removed its own row."""
    content = open_mail(queue.cipher, letter.outbox_id, letter.original_data)
    return Mail(
        outbox_id=letter.outbox_id,
        company_id=letter.company_id,
        lane=lane,
        template=content.template,
        sealed=letter.original_data,
        enqueued_at=letter.enqueued_at,
        expires_at=now + MAIL_LIFE,
        claim_id=content.data.get(CLAIM_ID, ""),
        round=1,
    )


def _counted(tally: RedriveTally) -> dict[str, int]:
    return {
        "sent": tally.sent,
        "failed": tally.failed,
        "under_way": tally.wave.under_way,
        "passed_over": tally.passed_over,
        "left": tally.left,
    }
