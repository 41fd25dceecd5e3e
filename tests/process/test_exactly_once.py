"""Answers lost at random, workers killed at random: every batch is taken exactly once.

The full size: `EXACTLY_ONCE_SENDS=2000 make long`.
"""

import asyncio
import os
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic

import pytest

from bpmn.names import ReviewReason
from domain.claim_state import ClaimState
from gateways.engine_clock import EngineClock
from gateways.practice.simulator.ledger import TAKEN, LedgerEntry
from gateways.practice.simulator.scenario import Drop, LoseAnswer, PayerScenario, Rule, Scenario
from gateways.practice.simulator.server import Simulator, simulated_payers
from gateways.zeebe import engine
from persistence.database.engine import sqlite_url
from persistence.repositories.claims import ClaimRow
from tests.process.hospital import claim_file, claim_id
from tests.process.stage import restart
from tests.support.command_line import environment
from tests.support.payers_file import payers_file
from tests.support.tiss_samples import PAYER
from workers.app.cluster import embedded
from workers.app.composition import App, running
from workers.app.databases import migrate_database
from workers.claims.examination import ClaimFile
from workers.config.settings import PayerFiles, Settings
from workers.demo.worker_process import WorkerProcess

SENDS = int(os.environ.get("EXACTLY_ONCE_SENDS", "200"))
CLAIMS = SENDS * 7 // 10
WORKERS = 2
STEP, LOCKS = timedelta(seconds=45), timedelta(minutes=2)
LOOK_SECONDS, QUIET_SECONDS = 0.5, 5.0
LOCKS_THAT_NEVER_END = 5
KNOWN = "refused:3268"
PATIENCE_SECONDS = max(900.0, SENDS)
LOSSES = tuple(
    Rule(chance=chance, then=then)
    for chance, then in (
        (0.08, LoseAnswer(how="close")),
        (0.08, LoseAnswer(how="reset")),
        (0.08, LoseAnswer(how="truncate")),
        (0.08, Drop(how="reset")),
        (0.08, Drop(how="close")),
    )
)
AT_REST = frozenset({ClaimState.ACCEPTED, ClaimState.IN_REVIEW})


@pytest.mark.long
@pytest.mark.timeout(PATIENCE_SECONDS)
async def test_every_batch_is_taken_once_and_every_claim_knows_it(
    own_broker: engine.RunningEngine, own_config: engine.EngineConfig, tmp_path: Path
) -> None:
    clock = EngineClock(own_broker.management_url)
    payer = PayerScenario(registro_ans=PAYER, rules=LOSSES)
    async with simulated_payers(Scenario(payers=(payer,)), clock) as simulator:
        settings = _settings(tmp_path, simulator)
        await migrate_database(settings)
        async with running(settings, embedded(own_broker)) as app, _mortal_workers(settings, own_config):
            await app.deploy()
            for number in range(1, CLAIMS + 1):
                await app.intake.submit(ClaimFile(claim_file(f"{number}")))
            claims = await _all_at_rest(app, _Motion(clock, own_config))
            await _prove(app, simulator, claims)


async def _prove(app: App, simulator: Simulator, claims: Sequence[ClaimRow]) -> None:
    ledger = simulator.ledger
    sends = [entry for entry in ledger.entries if entry.operation == "loteGuiasWS"]
    assert len(sends) >= SENDS
    by_id = {claim.claim_id: claim for claim in claims}
    assert sum(claim.state is ClaimState.ACCEPTED for claim in claims) > CLAIMS / 2
    assert ledger.times_taken() == {(PAYER, str(number)): 1 for number in range(1, CLAIMS + 1)}
    by_lote = defaultdict(list)
    for entry in sends:
        by_lote[entry.lote].append(entry)
    for number in range(1, CLAIMS + 1):
        await _prove_one(app, by_id[claim_id(str(number))], by_lote[str(number)])
    print(_summary(claims, sends))


async def _prove_one(app: App, claim: ClaimRow, sends: Sequence[LedgerEntry]) -> None:
    """The right protocol; or the answer that carried it was lost, or died with the worker that held it."""
    [taken] = [entry for entry in sends if entry.verdict == TAKEN]
    history = await app.store.look(lambda tx: tx.attempts.history(claim.claim_id))
    died = sum(attempt.outcome is None for attempt in history.sends)
    refusals = sum(entry.verdict == KNOWN and entry.answered for entry in sends)
    assert refusals <= 1 + died  # what the payer is known to have is not sent again
    if claim.state is ClaimState.ACCEPTED:
        assert claim.protocol_number == taken.protocol
        return
    [review] = await app.store.look(lambda tx: tx.reviews.of_claim(claim.claim_id))
    assert not taken.answered or died
    if review.reason == ReviewReason.PROTOCOL_MISSING:
        assert (sends[-1].verdict, sends[-1].answered) == (KNOWN, True)
    else:  # every retry spent and no answer: nobody on our side can know that the payer has it
        assert review.reason == ReviewReason.ARRIVAL_UNKNOWN
        assert sum(entry.answered for entry in sends) <= died


def _summary(claims: Sequence[ClaimRow], sends: Sequence[LedgerEntry]) -> str:
    ends = Counter(claim.reason or claim.state for claim in claims)
    return f"{len(claims)} claims in {len(sends)} sends: {dict(ends)}"


def _settings(home: Path, simulator: Simulator) -> Settings:
    payers = payers_file(
        home,
        f"""
[payers.{PAYER}]
endpoint = "{simulator.url}/{PAYER}"
version = "4.03.00"
requests_per_minute = 60000
at_once = 64
""",
    )
    return Settings(home=home, database_url=sqlite_url(home / "test.db"), payers=PayerFiles(file=payers))


@asynccontextmanager
async def _mortal_workers(settings: Settings, config: engine.EngineConfig) -> AsyncIterator[None]:
    """Worker processes, one of which is killed (-9) every few seconds and replaced."""
    given = {
        "ENGINE_HOME": str(config.home),
        "DATABASE_URL": settings.database,
        "PAYERS_FILE": str(settings.payers.file),
    }
    own = environment(settings.home, **given)
    workers = [WorkerProcess(own, settings.home / f"{n}.log") for n in range(WORKERS)]
    for worker in workers:
        worker.start()
    reaper = asyncio.create_task(_reap(workers))
    try:
        yield
    finally:
        reaper.cancel()
        with suppress(asyncio.CancelledError):
            await reaper
        for worker in workers:
            worker.kill()


async def _reap(workers: Sequence[WorkerProcess]) -> None:
    dice = random.Random(1)
    while True:
        await asyncio.sleep(dice.uniform(6, 14))  # long enough for a new one to begin to work
        victim = dice.choice(workers)
        victim.kill()
        victim.start()


class _Motion:
    """Engine time in fast motion, until every claim is accepted or with a person.

    It jumps to the next timer when nobody is busy, and over the locks of killed workers when nothing has
    changed for some seconds: a jump in the middle of work would cost jobs their way to the worker. Zeebe
    8.6.0 forgets to end some locks until it starts again; so it is started again.
    """

    def __init__(self, clock: EngineClock, config: engine.EngineConfig) -> None:
        self._clock = clock
        self._config = config
        self._busy = frozenset[ClaimRow]()
        self._jumps = 0
        self._since = monotonic()

    async def on(self, moving: Sequence[ClaimRow]) -> None:
        """Move on by what the claims on their way allow."""
        now = await self._clock.now()
        busy = frozenset(claim for claim in moving if not _waits(claim, now))
        if not busy:
            await self._clock.advance(_to_next_timer(moving, now))
        elif busy != self._busy:
            self._busy, self._jumps, self._since = busy, 0, monotonic()
        elif monotonic() - self._since > QUIET_SECONDS:
            await self._over_locks()

    async def _over_locks(self) -> None:
        self._jumps, self._since = self._jumps + 1, monotonic()
        if self._jumps % LOCKS_THAT_NEVER_END == 0:
            await asyncio.to_thread(restart, self._config)
        await self._clock.advance(LOCKS)


async def _all_at_rest(app: App, motion: _Motion) -> Sequence[ClaimRow]:
    deadline = monotonic() + PATIENCE_SECONDS
    while moving := [c for c in await app.store.look(lambda tx: tx.claims.all()) if c.state not in AT_REST]:
        assert monotonic() < deadline, f"{len(moving)} claims are still on their way, such as {moving[0]}"
        await motion.on(moving)
        await asyncio.sleep(LOOK_SECONDS)
    return await app.store.look(lambda tx: tx.claims.all())


def _waits(claim: ClaimRow, now: datetime) -> bool:
    due = claim.next_retry_time
    return claim.state is ClaimState.WAITING and due is not None and due > now


def _to_next_timer(waiting: Sequence[ClaimRow], now: datetime) -> timedelta:
    return max(min(claim.next_retry_time or now for claim in waiting) - now, STEP)
