"""A wrong password never locks an account, however many workers there are."""

import asyncio
import json
import sys
from datetime import datetime
from itertools import pairwise

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.payer_status import PayerLimits, PayerState, PayerStatus
from gateways.clock import WallClock
from gateways.practice.simulator.scenario import Scenario
from gateways.practice.simulator.server import simulated_payers
from persistence.store import Store
from persistence.tables import submission_attempts as attempts
from tests.integration.tiss.sender import CLAIMS
from tests.support.tiss_samples import LOGIN, PAYER

LOCKOUT = 5


async def two_workers(database_url: str, password: str) -> tuple[list[str], list[str]]:
    """What the jobs of two processes came to, and what the payer saw."""
    scenario = {"registro_ans": PAYER, "accounts": {LOGIN.name: password}, "lock_after": LOCKOUT}
    async with simulated_payers(Scenario.model_validate({"payers": [scenario]}), WallClock()) as simulator:
        senders = [
            await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.integration.tiss.sender"),
                *(database_url, f"{simulator.url}/{PAYER}", str(first)),
                stdout=asyncio.subprocess.PIPE,
            )
            for first in (1, 1 + CLAIMS)
        ]
        outputs = [(await sender.communicate())[0] for sender in senders]
        assert [sender.returncode for sender in senders] == [0, 0]
        jobs = [outcome for output in outputs for outcome in json.loads(output)]
        return jobs, [entry.verdict for entry in simulator.ledger.entries]


async def known(store: Store, *, proven: bool) -> datetime:
    """A payer we have heard of; returns since when."""
    now = await WallClock().now()
    async with store.transaction() as tx:
        await tx.payers.lock(PAYER, now=now)
        await tx.payers.save(PayerStatus(PAYER, now, proven=proven))
    return now


@pytest.mark.parametrize("proven", [False, True])
async def test_two_workers_with_a_wrong_password_stop_before_the_lockout(
    url: str, store: Store, proven: bool
) -> None:
    now = await known(store, proven=proven)
    jobs, seen = await two_workers(url, "0" * 32)
    incidents = [outcome for outcome in jobs if outcome.startswith("INCIDENT")]
    assert len(seen) == len(incidents)
    assert 1 <= len(seen) < LOCKOUT if proven else len(seen) == 1
    assert set(seen) == {"fault:LoginInvalido"}
    assert sorted({*jobs} - {*incidents}) == ["PAYER_UNAVAILABLE"]
    assert f"reenvio payer resume {PAYER}" in incidents[0]
    async with store.reading() as tx:
        status = await tx.payers.find(PAYER)
        assert status
        assert status.state is PayerState.STOPPED
        assert await tx.payers.in_flight(PAYER, now=now) == 0
        assert await tx.payers.count_waiting(PAYER) == 2 * CLAIMS - len(incidents)
        sends = [await tx.attempts.count(f"CLM-S-{n}") for n in range(1, 2 * CLAIMS + 1)]
    assert sum(sends) == len(seen)


async def test_two_workers_with_the_right_password_send_within_the_pace(
    url: str, store: Store, database: AsyncEngine
) -> None:
    await known(store, proven=True)  # or it would be the trial that holds the others back
    jobs, seen = await two_workers(url, LOGIN.password_md5)
    assert set(jobs) == {"COMPLETE", "PAYER_UNAVAILABLE"}
    assert seen == ["taken"] * jobs.count("COMPLETE")
    async with database.connect() as connection:
        query = select(attempts.c.started_at).order_by(attempts.c.started_at)
        began = (await connection.execute(query)).scalars().all()
    assert len(began) == len(seen)
    assert all(later - earlier >= PayerLimits().interval for earlier, later in pairwise(began))
