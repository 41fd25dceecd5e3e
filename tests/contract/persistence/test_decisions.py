"""One decision, one commit: the answer, its audit events, its facts; and the same answer again."""

import asyncio
import json
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from domain.decision import Retry
from persistence.repositories.decisions import stored_form
from persistence.repositories.draft import DecisionDraft, Recorded
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, REFUSAL, draft, later


async def rows(database: AsyncEngine, table: str) -> int:
    async with database.connect() as connection:
        return int(await connection.scalar(text(f"SELECT count(*) FROM {table}")) or 0)  # noqa: S608


async def test_a_decision_leaves_decision_trail_fact_and_story_together(
    store: Store, database: AsyncEngine
) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "payer-1", ClaimState.FAILED, now=NOW)
    given = draft()
    assert await store.record(given) == Recorded(given.result, is_new=True)
    async with store.reading() as tx:
        claim = await tx.claims.find(CLAIM)
        events = [event.event for event in await tx.audit.of_claim(CLAIM)]
        [fact] = await tx.outbox.unpublished(10)
        [note] = await tx.journal.of_claim(CLAIM)
    assert isinstance(given.decision, Retry)
    assert claim is not None
    assert (claim.state, claim.next_retry_time) == (ClaimState.WAITING, given.decision.next_retry_time)
    assert events == [
        "RECEIVED", "CLASSIFIED", "COUNTER_CHECKED", "BACKOFF_COMPUTED", "DECIDED", "SCHEDULED"
    ]  # fmt: skip
    assert (fact.type, json.loads(fact.payload)["claimId"]) == ("SubmissionRetryScheduledEvent", CLAIM)
    assert note.event == "retry_scheduled"


async def test_a_decision_not_to_retry_has_no_wait_in_its_trail(store: Store) -> None:
    await store.record(draft(error=REFUSAL))
    async with store.reading() as tx:
        events = [event.event for event in await tx.audit.of_claim(CLAIM)]
        [fact] = await tx.outbox.unpublished(10)
    assert events == ["RECEIVED", "CLASSIFIED", "COUNTER_CHECKED", "DECIDED"]
    assert fact.type == "PermanentErrorDetectedEvent"


async def test_a_redelivered_job_gets_its_stored_decision_and_leaves_no_second_trace(
    store: Store, database: AsyncEngine
) -> None:
    first = draft(job_key=7)
    await store.record(first)
    again = draft(job_key=7, now=later(seconds=40))
    assert again.result != first.result
    assert await store.record(again) == Recorded(first.result, is_new=False)
    assert [await rows(database, t) for t in ("retry_decisions", "outbox", "audit_events")] == [1, 1, 6]


async def test_a_decision_to_give_up_is_given_back_however_late(store: Store) -> None:
    first = draft(job_key=7, error=REFUSAL)
    await store.record(first)
    late = draft(job_key=7, error=REFUSAL, now=later(days=3))
    assert await store.record(late) == Recorded(first.result, is_new=False)


async def test_a_time_that_has_passed_is_never_handed_out_as_new(store: Store) -> None:
    await store.record(draft(job_key=7))
    late = draft(job_key=7, now=later(days=1))
    assert await store.record(late) == Recorded(late.result, is_new=True)
    async with store.reading() as tx:
        assert [d.round for d in await tx.decisions.of_claims([CLAIM])] == [0, 1]


@pytest.mark.parametrize(
    "change", [{"job_key": 8}, {"process_instance_key": 2}, {"count": 1}], ids=["job", "instance", "count"]
)
async def test_another_question_is_decided_anew(store: Store, change: dict[str, int]) -> None:
    await store.record(draft(job_key=7))
    other = draft(**({"job_key": 7} | change))  # type: ignore[arg-type]
    assert (await store.record(other)).is_new


async def test_a_round_holds_one_decision(store: Store) -> None:
    stored = stored_form(draft(), round_=0, audit_sequence=1)
    with pytest.raises(IntegrityError):
        async with store.transaction() as tx:
            await tx.decisions.keep([stored])
            await tx.decisions.keep([stored])


async def test_many_jobs_at_once_are_all_kept_and_each_gets_its_own_answer(
    store: Store, database: AsyncEngine
) -> None:
    drafts = [draft(f"CLM-{n % 40}-1", job_key=1_000 + n, process_instance_key=n) for n in range(200)]
    answers = await asyncio.gather(*map(store.record, drafts))
    assert answers == [Recorded(d.result, is_new=True) for d in drafts]
    assert await rows(database, "retry_decisions") == 200


async def test_two_workers_with_the_same_job_agree(database: AsyncEngine) -> None:
    one, other = Store(database), Store(database)
    for n in range(10):
        pair = [draft(f"CLM-7-{n}", job_key=n, now=later(seconds=s)) for s in (0, 1)]
        first, second = await asyncio.gather(one.record(pair[0]), other.record(pair[1]))
        assert first.result == second.result
        assert sorted([first.is_new, second.is_new]) == [False, True]
    assert await rows(database, "retry_decisions") == 10


async def test_one_bad_decision_does_not_spoil_its_group(store: Store, database: AsyncEngine) -> None:
    bad = draft("CLM-2-1", job_key=2**70)
    good = [draft(f"CLM-3-{n}") for n in range(5)]
    results = await asyncio.gather(*map(store.record, [bad, *good]), return_exceptions=True)
    assert isinstance(results[0], Exception)
    assert results[1:] == [Recorded(d.result, is_new=True) for d in good]
    assert await rows(database, "retry_decisions") == 5


async def test_a_caller_that_stops_waiting_does_not_undo_the_commit(store: Store) -> None:
    given = draft()
    task = asyncio.create_task(store.record(given))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await store.record(given) == Recorded(given.result, is_new=False)


async def test_the_history_is_found_by_claim_and_counted(store: Store) -> None:
    given = [draft(count=n, now=later(hours=n)) for n in range(3)]
    for one in given:
        await store.record(one)
    async with store.reading() as tx:
        attempts = await tx.decisions.of_claims([CLAIM])
        assert await tx.decisions.count(CLAIM) == 3
    assert [(a.attempt_number, a.decided_at, a.submission_error, a.backoff_minutes) for a in attempts] == [
        (n + 1, one.decision.decided_at, "TIMEOUT", _minutes(one)) for n, one in enumerate(given)
    ]


async def waiting(store: Store, claim: str, **changes: Any) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(claim, "payer-1", ClaimState.FAILED, now=NOW)
    await store.record(draft(claim, **changes))


async def test_pending_is_the_retry_that_each_waiting_claim_waits_for(store: Store) -> None:
    for n in range(3):
        await waiting(store, CLAIM, count=n, now=later(hours=n))
    await waiting(store, "CLM-OVERDUE-1", now=later(days=-9))
    async with store.reading() as tx:
        pending = await tx.decisions.pending(NOW)
        assert await tx.decisions.pending(NOW, limit=1) == pending[:1]
    assert [(d.claim_id, d.retry_count) for d in pending] == [("CLM-OVERDUE-1", 0), (CLAIM, 2)]


async def test_a_retry_that_will_not_come_is_not_pending(store: Store) -> None:
    for state in (ClaimState.CANCELLED, ClaimState.ACCEPTED, ClaimState.IN_REVIEW):
        await waiting(store, f"CLM-{state}-1")
        async with store.transaction() as tx:
            assert await tx.claims.move(f"CLM-{state}-1", state, now=NOW)
    await waiting(store, "CLM-SUBMITTING-1")
    async with store.transaction() as tx:
        await tx.claims.put("CLM-SUBMITTING-1", "payer-1", ClaimState.SUBMITTING, now=NOW)
    await waiting(store, "CLM-REFUSED-1", error=REFUSAL)
    await waiting(store, CLAIM, error=REFUSAL)
    async with store.transaction() as tx:  # resent by a person and held before its first send
        await tx.claims.move(CLAIM, ClaimState.WAITING, now=NOW, next_retry_time=later(hours=1))
        assert await tx.decisions.pending(NOW) == []


def _minutes(given: DecisionDraft) -> int:
    assert given.retry is not None
    return given.retry.backoff_minutes


async def test_facts_of_the_second_rule_count_and_measure_the_claims_story(store: Store) -> None:
    for n in range(6):
        await store.record(draft(profile="RN-BIL-005", count=n, now=later(hours=n)))
    async with store.reading() as tx:
        facts = [json.loads(fact.payload) for fact in await tx.outbox.unpublished(10)]
        assert len({fact.event_id for fact in await tx.outbox.unpublished(10)}) == 6
    assert [fact["version"] for fact in facts[:5]] == [1, 2, 3, 4, 5]
    assert facts[5]["totalDuration"] == 5 * 3600
    assert facts[5]["severity"] == "CRITICAL"
