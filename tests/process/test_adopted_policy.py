"""A worker that runs on a real broker follows what people adopt, and what they undo."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from bpmn.names import JobType
from domain.claim_state import ClaimState
from domain.operators import Attribution
from gateways.practice.scripted import FailLine
from tests.process.stage import Claim, Stage
from workers.app.serving import serve
from workers.policy.file import default_text
from workers.policy.writing import changed
from workers.upkeep.policy_desk import PolicyDesk

TIMEOUT = FailLine(error="TIMEOUT - Connection timeout after 30s", code="HTTP:408")
ANA = Attribution("ana on desk-1", "agreed")


@asynccontextmanager
async def served(stage: Stage) -> AsyncIterator[None]:
    """A worker as `reenvio work` serves it."""
    stop = asyncio.Event()
    app = replace(stage.app, payer=stage.payers)
    serving = asyncio.create_task(serve(app, frozenset(JobType), stop))
    try:
        yield
    finally:
        stop.set()
        await serving


async def decided_by(stage: Stage, claim: Claim) -> str:
    await stage.reaches(claim, ClaimState.WAITING)
    decided = await stage.app.store.look(lambda tx: tx.decisions.of_claims([claim.id.value]))
    return decided[-1].policy_version


async def follows(stage: Stage, version: str) -> None:
    async with asyncio.timeout(60):
        while stage.app.policy.current().version != version:
            await asyncio.sleep(0.05)


async def test_a_worker_that_runs_decides_by_the_adopted_policy_until_it_is_undone(stage: Stage) -> None:
    desk = PolicyDesk(stage.app.store, stage.app.policy, stage.clock)
    text = changed(default_text(), {"version": "adopted", "limits.max_retries": 3})
    async with served(stage):
        first = await stage.start(TIMEOUT)
        assert (await decided_by(stage, first)).startswith("1+")
        await desk.adopt(text, ANA, seen=(await desk.in_force()).mark)
        try:
            await follows(stage, "adopted")
            second = await stage.start(TIMEOUT)
            assert (await decided_by(stage, second)).startswith("adopted+")
        finally:
            await desk.undo(ANA, seen=(await desk.in_force()).mark)
        await follows(stage, "1")
        third = await stage.start(TIMEOUT)
        assert (await decided_by(stage, third)).startswith("1+")
