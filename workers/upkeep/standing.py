"""The watch: finds what is past its time while others move, and has the engine hand it out again.

Zeebe 8.6.0 was seen to forget some locks and timers until it starts again. A job of ours is known by its key:
failed by it, with the retries that it has, it is handed out anew. A wait is woken by the message that a
person's `retry-now` is. Both are harmless where the claim has moved meanwhile: the engine drops them, and a
job that is handed out while somebody works on it is told apart as any other redelivery is.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from bpmn.names import Message
from domain.errors import Trouble
from domain.observations import Observe, StandstillHealed, nobody_watches
from domain.readings import ReadGauges, Reading
from domain.standing import LATE_AFTER, HeldJob, Late, Look, StandingKind, Standstill, judge
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.messages import ProcessMessage
from persistence.repositories.journal import JournalNote
from persistence.store import Store, Transaction

MOST = 500
"""So many of each kind are looked at in one run, the longest late first."""
FORGOTTEN = "The lock of this job ended, and nobody got it: handed out again, at no cost to its retries."
GAUGE = "reenvio_standing_still"
NOT_IN_HAND = "the engine has no such job in anybody's hands"
log = structlog.get_logger(__name__)


async def _no_job(_job: HeldJob) -> bool:
    return False


async def _no_wait(_claim_id: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Nudges:
    """How the engine is told: to hand a job out again (False when it has none to hand out), to end a wait."""

    job: Callable[[HeldJob], Awaitable[bool]] = _no_job
    wait: Callable[[str], Awaitable[None]] = _no_wait


def nudges_by(commands: ZeebeCommands) -> Nudges:
    """Over the gateway; a wake-up that finds no wait is dropped at once, so that it ends no later one."""

    async def job(held: HeldJob) -> bool:
        return await commands.hand_out_again(held.key, max(held.retries, 1), FORGOTTEN)

    async def wait(claim_id: str) -> None:
        await commands.publish(ProcessMessage(Message.RETRY_NOW, claim_id, {}, timedelta()))

    return Nudges(job, wait)


@dataclass(frozen=True, slots=True)
class Found:
    """What is late, and what one look made of it."""

    late: Late
    after: Standstill
    others_move: bool


@dataclass(frozen=True, slots=True)
class StandingWatch:
    """Looks every few minutes; acts on each claim at most once in a while, and only while others move."""

    store: Store
    nudges: Nudges = field(default_factory=Nudges)
    observe: Observe = nobody_watches
    late_after: timedelta = LATE_AFTER

    async def look(self, now: datetime) -> int:
        """Find what stands still, tell it, and heal it; how much was healed.

        That it is healed is written down before: whoever dies here leaves it for the next time.
        """
        found = await self.store.run(lambda tx: self._found(tx, now))
        for one in found:
            _tell(one, now)
        healed = [one for one in found if one.after.healed_at == now and await self._is_healed(one)]
        if notes := [_note(one, now) for one in healed if one.late.kind is not StandingKind.MAIL]:
            await self.store.run(lambda tx: tx.journal.write_several(notes))
        return len(healed)

    async def _found(self, tx: Transaction, now: datetime) -> Sequence[Found]:
        late = await tx.standstills.late(now - self.late_after, MOST)
        known = await tx.standstills.lock_all()
        since = min((one.healed_at or one.seen_at for one in known.values()), default=now)
        look = Look(now, await tx.standstills.last_move(since) if known else None)
        after = [judge(one, known.get((one.kind, one.subject)), look) for one in late]
        await tx.standstills.forget(sorted({*known} - {one.key for one in after}))
        await tx.standstills.keep(one for one in after if known.get(one.key) != one)
        pairs = zip(late, after, strict=True)
        return [Found(one, then, _others_move(then, look)) for one, then in pairs]

    async def _is_healed(self, found: Found) -> bool:
        """Whether the engine took it; a claim that has gone on by itself is nobody's to heal."""
        late = found.late
        try:
            was_handed_out = late.job is not None and await self.nudges.job(late.job)
            if late.kind is StandingKind.WAIT:
                await self.nudges.wait(late.subject)
        except Trouble as trouble:
            log.warning("standing_not_healed", **_named(late), why=str(trouble))
            return False
        if not was_handed_out and late.kind is not StandingKind.WAIT:
            log.warning("standing_not_healed", **_named(late), why=NOT_IN_HAND)
            return False
        log.warning("standing_healed", **_named(late), heals=found.after.heals)
        self.observe(StandstillHealed(late.kind))
        return True


def standing_gauges(store: Store) -> ReadGauges:
    """How much stands still, by kind, for whoever shows gauges."""

    async def read() -> Sequence[Reading]:
        counts = await store.look(lambda tx: tx.standstills.count())
        return [Reading(GAUGE, number, {"kind": kind.value}) for kind, number in counts.items()]

    return read


def _others_move(after: Standstill, look: Look) -> bool:
    return look.moved_at is not None and look.moved_at > after.seen_at


def _tell(found: Found, now: datetime) -> None:
    """Once when it is believed, and again whenever it is healed."""
    after = found.after
    if now in (after.confirmed_at, after.healed_at):
        log.warning("claim_stands_still", **_named(found.late), others_move=found.others_move)


def _named(late: Late) -> dict[str, object]:
    subject = "mail" if late.kind is StandingKind.MAIL else "claim"
    told = {"kind": late.kind.value, subject: late.subject, "since": late.since.isoformat()}
    return told | ({"job": late.job.key} if late.job else {})


def _note(found: Found, now: datetime) -> JournalNote:
    late = found.late
    since = late.since.isoformat(timespec="seconds")
    what = "woken from its wait" if late.kind is StandingKind.WAIT else "its job was handed out again"
    return JournalNote(late.subject, now, "standing_healed", f"stood still since {since}: {what}")
