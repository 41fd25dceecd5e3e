"""A send that is on record is told once, whoever still waits for it."""

import asyncio

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.observations import ClaimSent, Observation, PayerMoved
from domain.payer_status import PayerLimits, PayerState
from gateways.practice.scripted import FailLine, Script, ScriptedPayer
from persistence.store import Store
from tests.support.builders import CLAIM
from tests.support.services import services
from workers.jobs.submit_claim import submit_claim
from workers.payers.limits import LimitsByPayer
from workers.payers.waking import Waker
from workers.runtime import Job

ANSWERED = "UPDATE submission_attempts"
BREAKS_AT_ONCE = LimitsByPayer({}, PayerLimits(per_minute=None, threshold=1))
AWAY = ScriptedPayer(Script(answers={CLAIM: (FailLine(error="SERVICE_UNAVAILABLE", payer_down=True),)}))


async def test_a_send_is_told_once_also_when_its_job_stopped_waiting_for_the_commit(
    store: Store, database: AsyncEngine
) -> None:
    told: asyncio.Queue[Observation] = asyncio.Queue()
    observe = told.put_nowait
    waker = Waker(store, BREAKS_AT_ONCE, observe=observe)
    given = {"payer": AWAY, "payer_limits": BREAKS_AT_ONCE, "waker": waker}
    handler = submit_claim(services(store, observe=observe, **given))
    variables = {"claimId": CLAIM, "payerId": "payer-1"}
    waiting = asyncio.ensure_future(handler.handle(Job(1, "submit-claim", "Task", 1, 3, {}, variables)))

    def stop_waiting(_connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith(ANSWERED):
            waiting.cancel()

    event.listen(database.sync_engine, "before_cursor_execute", stop_waiting)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await handler.finish()
    sent = await asyncio.wait_for(told.get(), 30)
    assert isinstance(sent, ClaimSent)
    assert (sent.claim_id, sent.attempt) == (CLAIM, 1)
    moved = await asyncio.wait_for(told.get(), 30)
    assert isinstance(moved, PayerMoved)
    assert (moved.before.state, moved.after.state) == (PayerState.CLOSED, PayerState.OPEN)
    assert told.empty()
