"""Deadlines in memory: kept with the decision, told in the trail, recomputed by the auditor."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.decision import Retry
from persistence.audit.verification import AuditProblem
from persistence.repositories.draft import DecisionDraft
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, draft, later

FITTED = later(hours=4, minutes=30)
SECONDS = 561  # the shortest wait of 300 s + floor(0.174356 x the 1,500 s of room)
TOO_NEAR = later(hours=4)
REDACTED = "CPF 123.456.789-09 timeout"


async def problems(store: Store) -> list[AuditProblem]:
    async with store.reading() as tx:
        return [problem async for problem in tx.verification.problems(NOW)]


async def trail(store: Store) -> list[tuple[str, dict[str, object]]]:
    async with store.reading() as tx:
        return [(event.event, json.loads(event.data)) for event in await tx.audit.of_claim(CLAIM)]


async def test_a_fitted_wait_is_kept_told_and_follows_from_its_policy(store: Store) -> None:
    await store.record(draft(count=4, deadline=FITTED))
    async with store.reading() as tx:
        [stored] = await tx.decisions.of_claims([CLAIM])
    assert stored.deadline == FITTED
    assert stored.next_retry_time == later(seconds=SECONDS)
    assert "before the deadline" in stored.retry_reason
    events = dict(await trail(store))
    assert events["RECEIVED"]["deadline"] == "2026-01-12T15:10:00Z"
    assert events["DEADLINE_CHECKED"]["effect"] == "MOVED_UP"
    assert events["BACKOFF_COMPUTED"]["seconds"] == SECONDS
    assert await problems(store) == []


async def test_an_early_escalation_is_told_and_follows_from_its_policy(store: Store) -> None:
    await store.record(draft(count=1, deadline=TOO_NEAR))
    events = await trail(store)
    assert [name for name, _ in events][-2:] == ["DEADLINE_CHECKED", "DECIDED"]
    assert events[-2][1]["effect"] == "ESCALATED"
    assert str(events[-1][1]["retryReason"]).startswith("Deadline 2026-01-12T14:40:00Z leaves no time")
    assert await problems(store) == []


async def test_a_deadline_that_is_far_away_is_looked_at_and_one_that_is_not_asked_leaves_no_event(
    store: Store,
) -> None:
    await store.record(draft(deadline=later(days=2)))
    assert dict(await trail(store))["DEADLINE_CHECKED"]["effect"] == "KEPT"
    await store.record(draft("CLM-002-2", count=5, deadline=TOO_NEAR))
    async with store.reading() as tx:
        spent = [event.event for event in await tx.audit.of_claim("CLM-002-2")]
    assert "DEADLINE_CHECKED" not in spent


async def test_a_redelivered_job_gets_the_same_answer_later(store: Store) -> None:
    for deadline in (FITTED, TOO_NEAR):
        first = draft(count=4, deadline=deadline, process_instance_key=deadline.minute)
        again = draft(
            count=4,
            deadline=deadline,
            now=later(minutes=5),
            job_key=first.job_key,
            process_instance_key=deadline.minute,
        )
        assert again.result != first.result or deadline is TOO_NEAR
        assert (await store.record(first)).result == (await store.record(again)).result == first.result


def delayed(honest: DecisionDraft) -> DecisionDraft:
    """The same decision with the wait that the schedule would have had without a deadline."""
    assert honest.retry is not None
    assert honest.retry.backoff.fitted_from is not None
    return waiting(honest, honest.retry.backoff.fitted_from)


def waiting(honest: DecisionDraft, seconds: int) -> DecisionDraft:
    """The same decision with another wait."""
    decision = honest.decision
    assert isinstance(decision, Retry)
    backoff = replace(decision.backoff, seconds=seconds, fitted_from=None)
    forged = replace(decision, backoff=backoff, next_retry_time=NOW + timedelta(seconds=seconds))
    return replace(honest, decision=forged)


@pytest.mark.parametrize("error", ["TIMEOUT", REDACTED])
async def test_a_wait_that_ignores_the_deadline_is_found(store: Store, error: str) -> None:
    await store.record(delayed(draft(count=4, deadline=FITTED, error=error)))
    [problem] = await problems(store)
    assert "does not follow from its policy" in problem.what


@pytest.mark.parametrize("error", ["TIMEOUT", REDACTED])
async def test_a_wait_that_is_wrong_by_a_second_is_found(store: Store, error: str) -> None:
    honest = draft(count=4, deadline=FITTED, error=error)
    assert honest.retry is not None
    off_by_one = waiting(honest, honest.retry.backoff.seconds + 1)
    assert off_by_one.retry is not None
    assert off_by_one.retry.backoff_minutes == honest.retry.backoff_minutes
    await store.record(off_by_one)
    [problem] = await problems(store)
    assert "does not follow from its policy" in problem.what


async def test_a_fitted_wait_of_a_redacted_error_is_recomputed(store: Store) -> None:
    await store.record(draft(count=4, deadline=FITTED, error=REDACTED))
    assert await problems(store) == []


async def test_decisions_of_workers_that_know_no_deadline_stay_whole(
    store: Store, database: AsyncEngine
) -> None:
    await store.record(draft())
    async with database.connect() as connection:
        assert await connection.scalar(text("SELECT deadline FROM retry_decisions")) is None
    assert "deadline" not in dict(await trail(store))["RECEIVED"]
    assert await problems(store) == []
