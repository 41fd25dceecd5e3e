"""Decisions that an earlier version of the rules' code made: proven as far as they can be."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.decision import RULES_VERSION, Retry
from persistence.repositories.draft import DecisionDraft
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, draft
from tests.support.earlier_rules import record_as_before, said_in_full, said_otherwise


def waiting(given: DecisionDraft, wait: timedelta) -> DecisionDraft:
    """The same with another wait."""
    assert isinstance(given.decision, Retry)
    backoff = replace(given.decision.backoff, seconds=int(wait.total_seconds()))
    forged = replace(given.decision, backoff=backoff, next_retry_time=NOW + wait)
    return replace(given, decision=forged)


async def verified(store: Store) -> tuple[list[str], int, int]:
    async with store.reading() as tx:
        found = [problem.what async for problem in tx.verification.problems(NOW)]
        return found, tx.verification.tally.decisions, tx.verification.tally.not_decided_again


async def test_a_decision_says_which_rules_made_it(store: Store) -> None:
    await store.record(draft())
    async with store.reading() as tx:
        received = (await tx.audit.of_claim(CLAIM))[0]
    assert json.loads(received.data)["rulesVersion"] == RULES_VERSION
    assert await verified(store) == ([], 1, 0)


async def test_what_todays_rules_would_decide_otherwise_is_counted_not_called_changed(
    store: Store, database: AsyncEngine
) -> None:
    await record_as_before(database, said_otherwise())
    assert await verified(store) == ([], 1, 1)


async def test_what_todays_rules_decide_likewise_is_proven_whoever_decided_it(
    store: Store, database: AsyncEngine
) -> None:
    await record_as_before(database, draft())
    assert await verified(store) == ([], 1, 0)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("TIMEOUT - Connection timeout after 30s", "TIMEOUT - Connection timeout after 30s"),
        ("the CPF 529.982.247-25 timed out", "the CPF [removed] timed out"),
    ],
)
async def test_a_trail_that_still_holds_the_errors_text_is_proven_as_before(
    store: Store, database: AsyncEngine, error: str, told: str
) -> None:
    await record_as_before(database, said_in_full(error, told), version=2)
    assert await verified(store) == ([], 1, 0)


async def test_what_todays_own_rules_do_not_decide_is_found(store: Store) -> None:
    await store.record(said_otherwise())
    [problem], _, earlier = await verified(store)
    assert ("does not follow from its policy" in problem, earlier) == (True, 0)


@pytest.mark.parametrize("minutes", [4, 241])
async def test_a_wait_that_no_rules_allow_is_found(store: Store, database: AsyncEngine, minutes: int) -> None:
    await record_as_before(database, waiting(said_otherwise(), timedelta(minutes=minutes)))
    assert (await verified(store))[0] == ["its wait does not fit its policy's limits"]


async def test_a_retry_past_the_deadline_is_found(store: Store, database: AsyncEngine) -> None:
    late = said_otherwise(count=4, deadline=NOW + timedelta(hours=5))
    await record_as_before(database, waiting(late, timedelta(minutes=239)))
    assert (await verified(store))[0] == []
    later = said_otherwise(claim="CLM-002-2", count=4, deadline=NOW + timedelta(hours=4, minutes=10))
    forged = waiting(later, timedelta(minutes=30))
    decision = replace(forged.decision, deadline=NOW + timedelta(minutes=20))
    await record_as_before(database, replace(forged, decision=decision))
    assert (await verified(store))[0] == ["its wait does not fit its policy's limits"]


async def test_a_retry_too_many_is_found(store: Store, database: AsyncEngine) -> None:
    await record_as_before(database, replace(said_otherwise(), asked_count=5))
    assert (await verified(store))[0] == ["it does not fit its policy's limits: shouldRetry"]
