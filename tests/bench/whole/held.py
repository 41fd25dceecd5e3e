"""What a claim costs that a breaker holds: how often it comes back a day, and what one comeback takes.

How often is counted on the breaker itself, for a claim that nobody wakes. What one takes is measured: claims
of a payer that is held, then the engine's clock moved on past all their timers, so that all come back.
The same move with one claim is taken off: it holds what maintenance does when hours pass.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic

from domain.breaker import Breaker
from domain.payer_status import PayerLimits, PayerState, PayerStatus
from domain.verdicts import Candidate, Hold
from gateways.engine_clock import EngineClock
from tests.bench.whole.meter import Meter, Reading, between
from tests.bench.whole.program import ProgramError
from tests.bench.whole.reenvio import Reenvio
from tests.bench.whole.rounds import PATIENCE_SECONDS, THROWN, Turn
from tests.bench.whole.stage import Files
from tests.support.tiss_samples import PAYER

DAY = timedelta(days=1)
BEGAN = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)
LEAP = timedelta(hours=13)
"""Past every timer of a held claim: the longest has twelve hours."""
LEAP_SECONDS = 5.0
"""So long a move of the clock is watched at least."""


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """What one comeback of a held claim costs, on a kind of database."""

    database: str
    claims: int
    worker_ms: float
    broker_ms: float
    commits: float
    jobs: float
    database_ms: float | None = None

    def times(self, comebacks: int) -> Mapping[str, float]:
        """What so many comebacks cost."""
        one = {"worker_ms": self.worker_ms, "broker_ms": self.broker_ms, "commits": self.commits}
        one |= {"jobs": self.jobs} | ({} if self.database_ms is None else {"database_ms": self.database_ms})
        return {name: comebacks * cost for name, cost in one.items()}


def comebacks(limits: PayerLimits, days: int) -> list[int]:
    """How often a claim comes back on each day of an outage in which another's trial always runs out."""
    status = PayerStatus(PAYER, BEGAN, PayerState.OPEN, next_try_at=BEGAN + limits.first_wait)
    now, by_day = _back(status, limits, BEGAN), Counter[int]()
    while (day := (now - BEGAN) // DAY) < days:
        by_day[day] += 1
        now = _back(status, limits, now)
    return [by_day[day] for day in range(days)]


def _back(status: PayerStatus, limits: PayerLimits, now: datetime) -> datetime:
    since = None if now == BEGAN else BEGAN
    _, verdict = Breaker(status, limits, now).admit(Candidate("CLM-1", PAYER, since=since), limits.trials)
    if not isinstance(verdict, Hold):
        raise ProgramError(f"the breaker says {verdict}")
    return verdict.resume_at


async def held_claim(turn: Turn, reenvio: Reenvio, claims: int) -> HeldClaim:
    """Measure one comeback of many claims; one claim comes back at every move of the clock."""
    ground, first, files = turn.ground, turn.stage.files(1), turn.stage.files(claims)
    await reenvio.command(ground, "deploy")
    await reenvio.hold(ground, PAYER)
    worker, thrown = reenvio.worker(ground, files), await _thrown(turn)
    async with worker.running() as pid:
        meter = turn.meter({pid: worker})
        await _held(turn, reenvio, first)
        await _leap(turn, meter, 1)  # what is loaded at the first of all jobs belongs to nobody
        alone = await _leap(turn, meter, 1)
        await _held(turn, reenvio, files)
        together = await _leap(turn, meter, 1 + claims)
        jobs = await _thrown(turn) - thrown - claims - 4  # the first claim came once and came back thrice
        await _let_go(turn, reenvio, 1 + claims)
    return as_held(ground.kind, claims, between(alone, together), jobs)


async def _held(turn: Turn, reenvio: Reenvio, files: Files) -> None:
    """Hand in files, and wait until their claims are held."""
    thrown = await _thrown(turn)
    await reenvio.command(turn.ground, "claim", "submit", str(files.folder))
    await _until_thrown(turn, thrown + files.count)


def as_held(database: str, claims: int, spent: Reading, jobs: int) -> HeldClaim:
    """The part of one comeback."""
    costs = {name: value / jobs for name, value in spent.items()}
    named = {
        name: costs[name] for name in ("worker_ms", "broker_ms", "database_ms", "commits") if name in costs
    }
    return HeldClaim(database=database, claims=claims, jobs=jobs / claims, **named)


async def _let_go(turn: Turn, reenvio: Reenvio, claims: int) -> None:
    """Let the held claims be sent, so that none comes back to whoever plays next."""
    done = await turn.stage.broker.completed(turn.ground.job_type)
    words = ("payer", "resume", PAYER, "--reason", "bench", "--by", "bench")
    await reenvio.command(turn.ground, *words)
    await turn.stage.broker.wait_completed(turn.ground.job_type, done + claims, PATIENCE_SECONDS)


async def _leap(turn: Turn, meter: Meter, claims: int) -> Reading:
    """What everybody spends when the clock is moved, until so many claims have come back."""
    thrown, before, until = await _thrown(turn), meter.read(), monotonic() + LEAP_SECONDS
    await EngineClock(turn.stage.broker.engine.management_url).advance(LEAP)
    await _until_thrown(turn, thrown + claims)
    await asyncio.sleep(max(0.0, until - monotonic()))
    return between(before, meter.read())


async def _thrown(turn: Turn) -> int:
    return await turn.stage.broker.jobs(turn.ground.job_type, THROWN)


async def _until_thrown(turn: Turn, count: int) -> None:
    await turn.stage.broker.wait_jobs(turn.ground.job_type, THROWN, count, PATIENCE_SECONDS)
