"""The watch: finds what is past its time while others move, and nudges the engine to set it going.

Zeebe was seen to forget some locks, backoffs and timers until it starts again. A job of ours is known by its
key: failed by it, with the retries that it has, it is handed out anew. One that has failed and whose backoff
the engine forgot can be failed no more: its task is ended and begun anew, if that backoff is on record. Else
it may stand on an incident that nobody could note, and that is a person's. A wait is woken by the message
that a person's `retry-now` is. Both are harmless where the claim has moved meanwhile: the engine drops them,
and a job that is handed out while somebody works on it is told apart as any other redelivery is.

The engine does not say whether a message found its wait. So a nudge is told as a nudge, and what a later
look finds to have gone on is healed.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from heapq import nsmallest

import structlog

from bpmn.names import Message, Variable
from domain.errors import Trouble
from domain.observations import Observe, StandstillHealed, nobody_watches
from domain.readings import ReadGauges, Reading
from domain.standing import (
    LATE_AFTER,
    HeldJob,
    JobPlace,
    Late,
    Look,
    StandingKind,
    Standstill,
    is_due,
    is_healed,
    judge,
    others_move,
)
from gateways.zeebe.commands import HandOut, Modification, ZeebeCommands
from gateways.zeebe.messages import ProcessMessage
from persistence.repositories.journal import JournalNote
from persistence.repositories.standstills import LatePage
from persistence.store import Store, Transaction

PAGE = 500
MOST = 500
"""So many are nudged at one look: those that never were first, then those whose last nudge is longest ago."""
TOGETHER = 25
NEVER = datetime.min.replace(tzinfo=UTC)
FORGOTTEN = "The lock of this job ended, and nobody got it: handed out again, at no cost to its retries."
GAUGE = "reenvio_standing_still"
NOT_IN_HAND = "the engine has no such job in anybody's hands, and no backoff of it is on record"
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
        answer = await commands.hand_out_again(held.key, max(held.retries, 1), FORGOTTEN)
        if answer is HandOut.RESTS and held.rests and held.place:
            await commands.modify(_anew(held.place))
            return True
        return answer is HandOut.DONE

    async def wait(claim_id: str) -> None:
        await commands.publish(ProcessMessage(Message.RETRY_NOW, claim_id, {}, timedelta()))

    return Nudges(job, wait)


def _anew(place: JobPlace) -> Modification:
    """The task begins anew, as the job that it was: what it has done before is still on record."""
    own = {str(Variable.RESOLVED_JOB): place.first_key}
    return Modification(place.instance, place.element, place.element_id, own=own)


@dataclass(frozen=True, slots=True)
class Happened:
    """What a claim's story calls it, and how it says it of a wait and of a job."""

    event: str
    words: Mapping[StandingKind, str]


NUDGED = Happened(
    "standing_nudged",
    {
        StandingKind.WAIT: "the engine was asked to end its wait",
        StandingKind.JOB: "the engine was asked to hand its job out again",
    },
)
HEALED = Happened(
    "standing_healed",
    {
        StandingKind.WAIT: "its wait ended after a nudge",
        StandingKind.JOB: "its job went on after a nudge",
    },
)


@dataclass(frozen=True, slots=True)
class Found:
    """What is late, and what one look made of it."""

    late: Late
    after: Standstill


@dataclass(frozen=True, slots=True)
class Left:
    """What stands still no more, and whether a nudge has healed it."""

    still: Standstill
    is_healed: bool


@dataclass(frozen=True, slots=True)
class StandingWatch:
    """Looks every few minutes; nudges each at most once in a while, and only while others move."""

    store: Store
    nudges: Nudges = field(default_factory=Nudges)
    observe: Observe = nobody_watches
    late_after: timedelta = LATE_AFTER

    async def look(self, now: datetime) -> int:
        """Tell what was healed, find what stands still, and nudge it; how many nudges the engine took.

        A few at a time: a slow engine keeps what was done from being written down for those alone.
        """
        await self._forget_gone(now)
        due = await self._due(await self.store.look(lambda tx: _looked(tx, now)))
        return sum([await self._nudge(due[at : at + TOGETHER], now) for at in range(0, len(due), TOGETHER)])

    async def _nudge(self, due: Sequence[Found], now: datetime) -> int:
        """That they are nudged is written down before: whoever dies here leaves them for the next time.

        A worker that looks at the same moment finds that written, and leaves them to this one.
        """
        mine = await self.store.run(lambda tx: _begun(tx, due, now))
        taken = [one for one in mine if await self._is_nudged(one)]
        await self.store.run(lambda tx: _keep_nudges(tx, taken, now))
        return len(taken)

    async def _forget_gone(self, now: datetime) -> None:
        while gone := await self.store.run(lambda tx: self._gone(tx, now)):
            for one in gone:
                if one.is_healed:
                    log.warning("standing_healed", **_named(one.still), nudges=one.still.nudges)
                    self.observe(StandstillHealed(one.still.kind))

    async def _gone(self, tx: Transaction, now: datetime) -> Sequence[Left]:
        found = await tx.standstills.gone(now - self.late_after, PAGE)
        gone = [Left(one.still, one.moved and is_healed(one.still, now)) for one in found]
        await tx.standstills.forget([one.still.key for one in gone])
        await tx.journal.write_several(_notes((one.still for one in gone if one.is_healed), HEALED, now))
        return gone

    async def _due(self, look: Look) -> Sequence[Found]:
        """All that is late is looked at, page by page; of what is due, those whose turn it is."""
        due: list[Found] = []
        for kind in StandingKind:
            page = LatePage(kind, look.now - self.late_after, limit=PAGE)
            while found := await self._page(page, look):
                due = nsmallest(MOST, [*due, *(one for one in found if is_due(one.after, look))], _turn)
                page = replace(page, after=found[-1].late)
        return due

    async def _page(self, page: LatePage, look: Look) -> Sequence[Found]:
        found = await self.store.run(lambda tx: _judged(tx, page, look))
        for one in found:
            if one.after.confirmed_at == look.now:
                log.warning("claim_stands_still", **_told(one.late), others_move=others_move(one.after, look))
        return found

    async def _is_nudged(self, found: Found) -> bool:
        """Whether the engine took it; a claim that has gone on by itself is nobody's to nudge."""
        late = found.late
        try:
            was_handed_out = late.job is not None and await self.nudges.job(late.job)
            if late.kind is StandingKind.WAIT:
                await self.nudges.wait(late.subject)
        except Exception as error:  # of one: the others are nudged all the same
            why = str(error) if isinstance(error, Trouble) else type(error).__name__
            log.warning("standing_not_nudged", **_told(late), why=why)
            return False
        if not was_handed_out and late.kind is not StandingKind.WAIT:
            log.warning("standing_not_nudged", **_told(late), why=NOT_IN_HAND)
            return False
        log.warning("standing_nudged", **_told(late), nudges=found.after.nudges + 1)
        return True


def standing_gauges(store: Store) -> ReadGauges:
    """How much stands still, by kind, for whoever shows gauges."""

    async def read() -> Sequence[Reading]:
        counts = await store.look(lambda tx: tx.standstills.count())
        return [Reading(GAUGE, number, {"kind": kind.value}) for kind, number in counts.items()]

    return read


async def _looked(tx: Transaction, now: datetime) -> Look:
    since = await tx.standstills.quiet_since()
    return Look(now, await tx.standstills.last_move(since) if since else None)


async def _judged(tx: Transaction, page: LatePage, look: Look) -> Sequence[Found]:
    late = await tx.standstills.late(page)
    known = await tx.standstills.lock(page.kind, [one.subject for one in late]) if late else {}
    after = [judge(one, known.get(one.subject), look) for one in late]
    await tx.standstills.keep(one for one in after if known.get(one.subject) != one)
    return [Found(one, then) for one, then in zip(late, after, strict=True)]


async def _begun(tx: Transaction, due: Sequence[Found], now: datetime) -> Sequence[Found]:
    """Those that stand as they were found: nobody else has begun to nudge them, or seen them go on."""
    known: dict[tuple[StandingKind, str], Standstill] = {}
    for kind in StandingKind:
        subjects = [one.late.subject for one in due if one.late.kind is kind]
        found = await tx.standstills.lock(kind, subjects) if subjects else {}
        known |= {one.key: one for one in found.values()}
    mine = [one for one in due if known.get(one.after.key) == one.after]
    await tx.standstills.keep(replace(one.after, nudged_at=now) for one in mine)
    return mine


async def _keep_nudges(tx: Transaction, taken: Sequence[Found], now: datetime) -> None:
    await tx.standstills.nudged([one.after for one in taken], now)
    await tx.journal.write_several(_notes((one.after for one in taken), NUDGED, now))


def _turn(found: Found) -> tuple[datetime, datetime]:
    return found.after.nudged_at or NEVER, found.late.since


def _named(still: Standstill | Late) -> dict[str, object]:
    subject = "mail" if still.kind is StandingKind.MAIL else "claim"
    return {"kind": still.kind.value, subject: still.subject, "since": still.since.isoformat()}


def _told(late: Late) -> dict[str, object]:
    return _named(late) | ({"job": late.job.key} if late.job else {})


def _notes(found: Iterable[Standstill], what: Happened, now: datetime) -> Sequence[JournalNote]:
    """What claims' stories say of it; a mail has none."""
    return [
        JournalNote(one.subject, now, what.event, f"{_stood(one)}: {what.words[one.kind]}")
        for one in found
        if one.kind in what.words
    ]


def _stood(still: Standstill) -> str:
    return f"stood still since {still.since.isoformat(timespec='seconds')}"
