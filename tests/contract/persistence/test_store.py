"""What the store promises: all or nothing, and one effect per job."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy.exc import DBAPIError, StatementError

from domain.claim_state import ClaimState
from persistence.repositories.attempts import NOT_SENT, AttemptResult
from persistence.repositories.reviews import Notice, Review
from persistence.store import Store
from tests.support.builders import CLAIM, NOW


async def test_a_transaction_that_fails_leaves_nothing(store: Store) -> None:
    with pytest.raises(RuntimeError):
        async with store.transaction() as tx:
            await tx.claims.put(CLAIM, "payer-1", ClaimState.SUBMITTING, now=NOW)
            raise RuntimeError
    async with store.transaction() as tx:
        assert await tx.claims.all() == []


async def test_a_look_sees_one_moment_however_long_it_takes(store: Store) -> None:
    async with store.reading() as tx:
        assert await tx.claims.all() == []
        async with store.transaction() as other:
            await other.claims.put(CLAIM, "payer-1", ClaimState.SUBMITTING, now=NOW)
        assert await tx.claims.all() == []
    async with store.reading() as tx:
        assert [claim.claim_id for claim in await tx.claims.all()] == [CLAIM]


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
async def test_postgresql_refuses_to_write_in_a_look_and_only_there(store: Store) -> None:
    with pytest.raises(DBAPIError, match="read-only"):
        async with store.reading() as tx:
            await tx.claims.put(CLAIM, "payer-1", ClaimState.SUBMITTING, now=NOW)
    for _ in range(20):  # whichever connection of the pool it gets
        async with store.transaction() as tx:
            await tx.claims.put(CLAIM, "payer-1", ClaimState.SUBMITTING, now=NOW)


async def test_a_wait_is_forgotten_when_the_claim_moves_on(store: Store) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "payer-1", ClaimState.SUBMITTING, now=NOW)
        due = NOW + timedelta(minutes=5)
        await tx.claims.move(CLAIM, ClaimState.WAITING, now=NOW, next_retry_time=due)
        waiting = await tx.claims.find(CLAIM)
        assert waiting is not None
        assert waiting.next_retry_time == due
        await tx.claims.put(CLAIM, "payer-1", ClaimState.SUBMITTING, now=NOW)
        moved = await tx.claims.find(CLAIM)
    assert moved is not None
    assert moved.next_retry_time is None


async def test_an_unknown_claim_cannot_be_moved(store: Store) -> None:
    async with store.transaction() as tx:
        assert not await tx.claims.move("CLM-unknown-1", ClaimState.WAITING, now=NOW)


async def test_a_time_without_zone_is_refused(store: Store) -> None:
    with pytest.raises(StatementError, match="no time zone"):
        async with store.transaction() as tx:
            naive = datetime(2026, 1, 1)  # noqa: DTZ001  # that is the point
            await tx.claims.put(CLAIM, "payer-1", ClaimState.SUBMITTING, now=naive)


async def test_attempts_are_numbered_per_claim_and_found_by_job(store: Store) -> None:
    async with store.transaction() as tx:
        assert await tx.attempts.start(CLAIM, 7, now=NOW) == 1
        await tx.attempts.finish(CLAIM, 1, AttemptResult("FAILED", {"complete": {}}), now=NOW)
        assert await tx.attempts.start(CLAIM, 8, now=NOW) == 2
        assert await tx.attempts.start("CLM-002-1", 9, now=NOW) == 1
        earlier = await tx.attempts.of_job(7, CLAIM)
        assert await tx.attempts.of_job(99, CLAIM) is None
    assert earlier is not None
    assert earlier.result == {"complete": {}}


@pytest.mark.parametrize(
    ("outcome", "lost"), [(None, True), ("ANSWER_LOST", True), ("FAILED", False), (NOT_SENT, False)]
)
async def test_only_an_unknown_answer_counts_as_lost(store: Store, outcome: str | None, lost: bool) -> None:
    async with store.transaction() as tx:
        await tx.attempts.start(CLAIM, 1, now=NOW)
        if outcome:
            await tx.attempts.finish(CLAIM, 1, AttemptResult(outcome), now=NOW)
        assert (await tx.attempts.history(CLAIM)).answer_was_lost is lost
        assert not (await tx.attempts.history("CLM-002-1")).answer_was_lost


async def test_a_send_that_never_left_is_not_counted(store: Store) -> None:
    async with store.transaction() as tx:
        for job, outcome in enumerate(("FAILED", NOT_SENT, "ACCEPTED"), start=1):
            number = await tx.attempts.start(CLAIM, job, now=NOW)
            await tx.attempts.finish(CLAIM, number, AttemptResult(outcome), now=NOW)
        assert await tx.attempts.count(CLAIM) == 2


async def test_reviews_and_notices_are_kept_once_per_job(store: Store) -> None:
    review, notice = (
        Review(CLAIM, 0, "PERMANENT_ERROR", "why", "REGISTRATION"),
        Notice(CLAIM, "REGISTRATION", "permanent-error"),
    )
    async with store.transaction() as tx:
        opened = await tx.reviews.open(review, job_key=1, now=NOW)
        assert await tx.reviews.of_job(1, CLAIM) == opened
        assert await tx.reviews.of_job(2, CLAIM) is None
        assert await tx.notices.record(notice, job_key=1, now=NOW)
        assert not await tx.notices.record(notice, job_key=1, now=NOW)
        assert await tx.reviews.of_claim(CLAIM) == [review]
        assert await tx.notices.of_claim(CLAIM) == [notice]


async def test_the_team_of_a_claim_is_that_of_its_latest_review(store: Store) -> None:
    async with store.transaction() as tx:
        for job, (claim, team) in enumerate(
            [(CLAIM, "REGISTRATION"), ("CLM-2-2", "OPERATIONS"), (CLAIM, "OPERATIONS"), ("CLM-3-3", None)]
        ):
            await tx.reviews.open(Review(claim, 0, "PERMANENT_ERROR", None, team), job_key=job, now=NOW)
        assert await tx.reviews.teams([CLAIM, "CLM-3-3"]) == {CLAIM: "OPERATIONS"}
        assert await tx.reviews.teams([]) == {}


async def test_the_journal_is_read_in_order_from_where_one_left_off(store: Store) -> None:
    async with store.transaction() as tx:
        for event in ("failed", "retry_scheduled", "accepted"):
            await tx.journal.write(CLAIM, event, "", now=NOW)
        first, *rest = await tx.journal.since(0)
        assert [entry.event for entry in rest] == ["retry_scheduled", "accepted"]
        assert await tx.journal.since(first.sequence) == rest
