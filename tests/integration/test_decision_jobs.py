"""The decision jobs: how long they took is told, and how often a disturbed commit is repeated."""

import asyncio
import json
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from domain.observations import DecisionMade, Observation, OperationRepeated
from domain.policy import Shape
from persistence.database.trouble import DatabaseError
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, POLICY, draft, later
from tests.support.services import services
from workers.jobs.decisions import analyze_retry, retry_submission_backoff
from workers.runtime import Complete, Incident, Job

RULES_REPETITIONS = 3
LOG, SCHEDULE = "INSERT INTO audit_events", "UPDATE claims"


class StandingClock:
    """A clock that stands still."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    async def now(self) -> datetime:
        return self._moment


class SlowClock:
    """A clock whose answer takes a quarter of a second by the stopwatch beside it."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    async def now(self) -> datetime:
        self.seconds += 0.25
        return NOW

    def stopwatch(self) -> float:
        return self.seconds


@pytest.mark.parametrize("job", [retry_submission_backoff, analyze_retry])
async def test_the_trail_tells_how_long_the_job_took(store: Store, job: Any) -> None:
    clock = SlowClock()
    handler = job(services(store, clock=clock, stopwatch=clock.stopwatch))
    variables = {"claimId": CLAIM, "submissionError": "TIMEOUT", "retryCount": 0}
    assert isinstance(await handler.handle(Job(1, handler.type, "Task", 1, 3, {}, variables)), Complete)
    async with store.reading() as tx:
        [decided] = [e for e in await tx.audit.of_claim(CLAIM) if e.event == "DECIDED"]
    assert json.loads(decided.data)["executionTimeMs"] == 250


@pytest.mark.parametrize("shape", Shape)
async def test_who_watches_is_told_which_rule_a_profile_of_ones_own_follows(
    store: Store, shape: Shape
) -> None:
    told: list[Observation] = []
    own = replace(POLICY.profile, name="OWN", shape=shape)
    policy = replace(POLICY, profiles={**POLICY.profiles, "OWN": own})
    handler = retry_submission_backoff(services(store, policy=lambda: policy, observe=told.append))
    variables = {"claimId": CLAIM, "submissionError": "TIMEOUT", "retryCount": 0}
    await handler.handle(Job(1, handler.type, "Task", 1, 3, {"retryProfile": "OWN"}, variables))
    [made] = [one for one in told if isinstance(one, DecisionMade)]
    assert (made.profile, made.shape) == ("OWN", shape)


REFERENCE = "GUIDE/2025:0017"


@pytest.mark.parametrize("job", [retry_submission_backoff, analyze_retry])
async def test_a_claim_of_another_process_may_have_an_id_of_another_form(store: Store, job: Any) -> None:
    handler = job(services(store))
    variables = {"claimId": REFERENCE, "submissionError": "TIMEOUT", "retryCount": 0}
    refused = await handler.handle(Job(1, handler.type, "Task", 1, 3, {}, variables))
    assert isinstance(refused, Incident)
    headers = {"claimIdForm": "reference"}
    taken = await handler.handle(Job(2, handler.type, "Task", 1, 3, headers, variables))
    assert isinstance(taken, Complete)
    assert await handler.handle(Job(2, handler.type, "Task", 1, 3, headers, variables)) == taken
    async with store.reading() as tx:
        assert [problem async for problem in tx.verification.problems(later(days=1))] == []
        assert [decision.claim_id for decision in await tx.decisions.of_claims([REFERENCE])] == [REFERENCE]


async def test_a_header_that_is_not_known_is_an_incident_and_decides_nothing(store: Store) -> None:
    handler = retry_submission_backoff(services(store))
    variables = {"claimId": CLAIM, "submissionError": "TIMEOUT"}
    refused = await handler.handle(Job(1, handler.type, "Task", 1, 3, {"maxRetires": "3"}, variables))
    assert isinstance(refused, Incident)
    assert "Task header maxRetires" in refused.message
    assert "did you mean maxRetries?" in refused.message
    async with store.reading() as tx:
        assert await tx.decisions.of_claims([CLAIM]) == []


@pytest.mark.parametrize("job", [retry_submission_backoff, analyze_retry])
@pytest.mark.parametrize("error", ["TIMEOUT", "INSURANCE_EXPIRED", "???"])
async def test_bil_005_13_5_8_a_redelivered_job_gives_the_same_answer_and_leaves_one_record(
    store: Store, database: AsyncEngine, job: Any, error: str
) -> None:
    variables = {"claimId": CLAIM, "submissionError": error, "retryCount": 3}
    answers = []
    for minutes in (0, 1, 2):  # each time another worker, later
        handler = job(services(store, clock=StandingClock(later(minutes=minutes))))
        answers.append(await handler.handle(Job(1, handler.type, "Task", 1, 3, {}, variables)))
    assert answers == [answers[0]] * 3
    async with database.connect() as connection:
        for table in ("retry_decisions", "audit_events WHERE event = 'DECIDED'"):
            assert await connection.scalar(text(f"SELECT count(*) FROM {table}")) == 1  # noqa: S608
    another = await handler.handle(Job(2, handler.type, "Task", 1, 3, {}, variables))
    assert another != answers[0] or error == "INSURANCE_EXPIRED"  # a new job is decided at its own time


class Disturbance:
    """Lets a statement fail so many times; counts how often it was tried."""

    def __init__(self, database: AsyncEngine, statement: str, times: int) -> None:
        self._statement, self._times = statement, times
        self.tries = 0
        event.listen(database.sync_engine, "before_cursor_execute", self._hear)

    def _hear(self, _connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith(self._statement):
            self.tries += 1
            if self.tries <= self._times:
                raise ConnectionResetError


VARIABLES = {"claimId": CLAIM, "submissionError": "TIMEOUT", "retryCount": 0}


@pytest.mark.parametrize("job", [retry_submission_backoff, analyze_retry])
async def test_a_decision_is_told_once_also_when_its_job_stopped_waiting_for_the_commit(
    store: Store, database: AsyncEngine, job: Any
) -> None:
    told: asyncio.Queue[Observation] = asyncio.Queue()
    handler = job(services(store, observe=told.put_nowait))
    asked = Job(1, handler.type, "Task", 1, 3, {}, VARIABLES)
    waiting = asyncio.create_task(handler.handle(asked))

    def stop_waiting(_connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith(LOG):
            waiting.cancel()

    event.listen(database.sync_engine, "before_cursor_execute", stop_waiting)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert isinstance(await asyncio.wait_for(told.get(), 30), DecisionMade)
    assert isinstance(await handler.handle(asked), Complete)
    assert [told.get_nowait() for _ in range(told.qsize())] == [OperationRepeated(handler.type)]


async def test_a_decision_whose_commit_went_well_and_whose_answer_got_lost_is_told_as_made(
    store: Store, database: AsyncEngine
) -> None:
    told, lost = list[Observation](), list[Connection]()

    def lose_the_answer(connection: Connection) -> None:
        if not lost:
            lost.append(connection)
            connection.connection.commit()
            raise ConnectionResetError

    handler = retry_submission_backoff(services(store, observe=told.append))
    event.listen(database.sync_engine, "commit", lose_the_answer)
    await handler.handle(Job(1, handler.type, "Task", 1, 3, {}, VARIABLES))
    assert [type(one) for one in told] == [DecisionMade]
    assert len(lost) == 1


async def left(store: Store) -> tuple[bool, bool]:
    """Whether the log was written, and whether the next send is scheduled."""
    async with store.reading() as tx:
        claim = await tx.claims.find(CLAIM)
        assert claim is not None
        return bool(await tx.audit.of_claim(CLAIM)), claim.next_retry_time is not None


@pytest.mark.parametrize("statement", [LOG, SCHEDULE])
async def test_writing_the_log_and_scheduling_survive_three_failures(
    store: Store, database: AsyncEngine, statement: str
) -> None:
    await store.run(lambda tx: tx.claims.put(CLAIM, "payer-1", ClaimState.FAILED, now=NOW))
    disturbed = Disturbance(database, statement, RULES_REPETITIONS)
    await store.record(draft())
    assert disturbed.tries == 1 + RULES_REPETITIONS
    assert await left(store) == (True, True)


@pytest.mark.parametrize("statement", [LOG, SCHEDULE])
async def test_a_fourth_failure_to_write_the_log_or_to_schedule_gives_up_and_leaves_nothing(
    store: Store, database: AsyncEngine, statement: str
) -> None:
    await store.run(lambda tx: tx.claims.put(CLAIM, "payer-1", ClaimState.FAILED, now=NOW))
    disturbed = Disturbance(database, statement, times=99)
    with pytest.raises(DatabaseError):
        await store.record(draft())
    assert disturbed.tries == 1 + RULES_REPETITIONS
    assert await left(store) == (False, False)
