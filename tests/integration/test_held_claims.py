"""A claim whose row somebody holds is its own job's matter: the others of its group go on without it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from domain.payer_status import PayerLimits
from domain.submission import SendResult, Submission
from persistence.store import Store
from tests.integration.test_shared_commits import CLAIMS, job, submitted
from tests.support.builders import NOW
from tests.support.payer_stage import PAYER, Scene
from workers.runtime import Complete, Postpone

HELD = 3
LIMITS = PayerLimits(per_minute=None, at_once=32, needs_proof=False)
TAKEN = Complete({"protocolNumber": "P-1"})
pytestmark = pytest.mark.parametrize("kind", ["postgresql"], indirect=True)


@asynccontextmanager
async def held(store: Store) -> AsyncIterator[None]:
    """Somebody works on a claim, and takes their time."""
    async with store.transaction() as tx:
        assert await tx.claims.lock(f"CLM-D-{HELD}")
        yield


async def handed_in(store: Store) -> None:
    async with store.transaction() as tx:
        for number in CLAIMS:
            await tx.claims.put(f"CLM-D-{number}", PAYER, ClaimState.SUBMITTING, now=NOW)


async def test_the_others_of_its_moment_begin_and_it_comes_again(store: Store) -> None:
    await handed_in(store)
    scene = Scene(store, LIMITS)
    handler = scene.handler("submit-claim")
    async with held(store):
        told = await submitted(handler)
    assert told[:2] + told[3:] == [TAKEN] * (len(CLAIMS) - 1)
    postponed = told[HELD - 1]
    assert isinstance(postponed, Postpone)
    assert "CLM-D-3 is held by somebody else" in postponed.message
    assert "does not answer" not in postponed.message
    assert f"CLM-D-{HELD}" not in scene.sent
    assert not store.refuses()
    assert await handler.handle(job(HELD)) == TAKEN


async def test_who_is_held_for_a_moment_only_is_sent_all_the_same(
    store: Store, database: AsyncEngine
) -> None:
    await handed_in(store)
    handler, tried = Scene(store, LIMITS).handler("submit-claim"), asyncio.Event()

    def seen(_connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if "SKIP LOCKED" in statement:
            tried.set()

    event.listen(database.sync_engine, "after_cursor_execute", seen)
    async with held(store):
        sending = asyncio.create_task(submitted(handler))
        await tried.wait()
    assert await sending == [TAKEN] * len(CLAIMS)


class HoldingPayer(Scene):
    """While it answers for one claim, somebody takes that claim's row and keeps it."""

    async def send(self, submission: Submission, now: datetime) -> SendResult:
        if submission.claim_id == f"CLM-D-{HELD}":
            self.holding = held(self.store)
            await self.holding.__aenter__()
        return await super().send(submission, now)

    async def let_go(self) -> None:
        await self.holding.__aexit__(None, None, None)


async def state_of_held(store: Store) -> ClaimState:
    async with store.reading() as tx:
        claim = await tx.claims.find(f"CLM-D-{HELD}")
    assert claim
    return claim.state


async def test_an_answer_that_cannot_be_written_yet_keeps_no_other_waiting(store: Store) -> None:
    payer = HoldingPayer(store, LIMITS)
    handler = payer.handler("submit-claim")
    waits = asyncio.ensure_future(handler.handle(job(HELD)))
    others = [number for number in CLAIMS if number != HELD]
    assert await asyncio.gather(*(handler.handle(job(one)) for one in others)) == [TAKEN] * len(others)
    assert await submitted(handler, range(20, 24)) == [TAKEN] * 4
    assert not waits.done()
    assert await state_of_held(store) is ClaimState.SUBMITTING
    await payer.let_go()
    assert await waits == TAKEN
    assert payer.sent.count(f"CLM-D-{HELD}") == 1


async def test_it_is_written_also_when_its_job_waits_no_more_and_the_worker_stops(store: Store) -> None:
    payer = HoldingPayer(store, LIMITS)
    handler = payer.handler("submit-claim")
    waits = asyncio.ensure_future(handler.handle(job(HELD)))
    assert await submitted(handler, range(20, 24)) == [TAKEN] * 4
    waits.cancel()
    stopping = asyncio.ensure_future(handler.finish())
    assert await submitted(handler, range(30, 34)) == [TAKEN] * 4
    assert not stopping.done()
    await payer.let_go()
    await stopping
    assert await state_of_held(store) is ClaimState.ACCEPTED
