"""Retention: what is past its period goes, in bounded batches; what is held or young stays."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from domain.retention import YEAR, Periods
from persistence.repositories.attempts import AttemptResult
from persistence.repositories.legal_holds import LegalHold
from persistence.repositories.reviews import Notice, Review
from persistence.store import Store
from tests.support.builders import NOW, draft, later
from workers.upkeep.retention import RemovalLimits, apply, preview, set_due_anchors

OLD, HELD, YOUNG = "CLM-OLD-1", "CLM-HELD-2", "CLM-YOUNG-3"
SIX_YEARS = NOW + 6 * YEAR
PERIODS = Periods()


async def story(store: Store, claim: str, at: datetime, job: int) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(claim, "payer-1", ClaimState.SUBMITTING, now=at)
        await tx.attempts.start(claim, job, now=at)
        await tx.attempts.finish(claim, 1, AttemptResult("FAILED", {"complete": {}}), now=at)
    await store.record(draft(claim, now=at, job_key=job))
    async with store.transaction() as tx:
        await tx.reviews.open(Review(claim, 0, "PERMANENT_ERROR", "why"), job_key=job, now=at)
        await tx.notices.record(Notice(claim, "REGISTRATION", "x"), job_key=job, now=at)
        await tx.claims.move(claim, ClaimState.WRITTEN_OFF, now=at)
        await tx.journal.write(claim, "written_off", "why", now=at)
        await tx.outbox.published([e.position for e in await tx.outbox.unpublished(9)], now=at)


@pytest.fixture
async def stories(store: Store) -> Store:
    await story(store, OLD, NOW, 1)
    await story(store, HELD, NOW, 2)
    await story(store, YOUNG, NOW + 5 * YEAR, 3)
    await store.run(lambda tx: tx.holds.place(LegalHold(HELD, "case 7", NOW)))
    async with store.transaction() as tx:  # as the daily process would have done, day by day
        await tx.anchors.set(NOW.date(), now=later(days=1))
    return store


async def about(store: Store, claim: str) -> set[str]:
    async with store.reading() as tx:
        return {line.split('"')[3] for line in [line async for line in tx.export.lines(claim, str)]}


EVERYTHING = {
    "claims", "submission_attempts", "retry_decisions", "first_rounds", "reviews", "notices", "claim_events",
    "audit_events",
}  # fmt: skip


async def test_a_dry_run_counts_and_removes_nothing(stories: Store) -> None:
    counted = await preview(stories, PERIODS, SIX_YEARS)
    assert counted["claims"] == counted["decisions"] == counted["sends"] == 1
    assert counted["first rounds of claims"] == 1
    assert counted["audit events"] == 8
    assert counted["payloads of sends"] == 2
    assert await preview(stories, PERIODS, SIX_YEARS) == counted
    assert await about(stories, OLD) == EVERYTHING | {"outbox"}


async def test_a_run_removes_what_the_dry_run_counted(stories: Store) -> None:
    counted = await preview(stories, PERIODS, SIX_YEARS)
    removed = await apply(stories, PERIODS, SIX_YEARS)
    assert removed == counted
    assert await about(stories, OLD) == set()
    assert await about(stories, YOUNG) == EVERYTHING
    assert set((await preview(stories, PERIODS, SIX_YEARS)).values()) == {0}


async def test_a_claim_on_legal_hold_keeps_everything(stories: Store) -> None:
    await apply(stories, PERIODS, SIX_YEARS)
    assert await about(stories, HELD) == EVERYTHING | {"outbox", "legal_holds"}
    assert await stories.run(lambda tx: tx.holds.release(HELD, now=SIX_YEARS))
    await apply(stories, PERIODS, SIX_YEARS)
    async with stories.reading() as tx:
        [kept] = await tx.audit.of_claim(HELD)
    assert "released" in kept.data  # that it was is new, and stays
    assert await about(stories, HELD) == {"audit_events"}


async def test_after_a_run_the_audit_trail_still_verifies(stories: Store) -> None:
    await apply(stories, PERIODS, SIX_YEARS)
    async with stories.reading() as tx:
        found = [problem async for problem in tx.verification.problems(SIX_YEARS)]
        _, anchor = await tx.anchors.all()
    assert ["have no anchor" in problem.what for problem in found] == [True]  # nobody has run since
    assert anchor.pruned_at == SIX_YEARS


async def test_a_verification_beside_a_run_sees_the_trail_of_one_moment(
    stories: Store, database: AsyncEngine
) -> None:
    async with database.begin() as connection:  # something to report before the run
        for statement in (
            "INSERT INTO audit_permits VALUES ('audit_events:UPDATE')",
            f"UPDATE audit_events SET job_key = 9 WHERE claim_id = '{HELD}' AND sequence = 1",  # noqa: S608
            "DELETE FROM audit_permits",
        ):
            await connection.execute(text(statement))
    async with stories.reading() as tx:
        found = tx.verification.problems(later(days=1))
        assert (await anext(found)).where == f"{HELD} event 1"
        removed = await apply(stories, PERIODS, SIX_YEARS)
        assert removed["audit events"] == 8
        assert [problem async for problem in found] == []


async def test_events_of_a_day_without_anchor_are_not_removed(store: Store) -> None:
    await story(store, OLD, NOW, 1)
    removed = await apply(store, PERIODS, SIX_YEARS)
    assert removed["audit events"] == 0
    assert "audit_events" in await about(store, OLD)


async def test_small_batches_come_to_the_same(store: Store) -> None:
    for n in range(9):
        await store.record(draft(f"CLM-1-{n}"))
    await set_due_anchors(store, later(days=2))
    removed = await apply(store, PERIODS, SIX_YEARS, limits=RemovalLimits(2))
    assert (removed["decisions"], removed["audit events"], removed["journal entries"]) == (9, 54, 9)


async def test_every_area_has_a_share_of_batches_of_its_own(store: Store) -> None:
    for n in range(9):
        await store.record(draft(f"CLM-1-{n}"))
    await set_due_anchors(store, later(days=2))
    removed = await apply(store, PERIODS, SIX_YEARS, limits=RemovalLimits(2, 4))
    assert (removed["decisions"], removed["audit events"], removed["journal entries"]) == (8, 8, 8)


async def test_areas_take_turns_so_that_none_waits_for_another(store: Store, database: AsyncEngine) -> None:
    for n in range(9):
        await store.record(draft(f"CLM-1-{n}"))
    deletions: list[str] = []

    def note(_connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("DELETE FROM"):
            deletions.append(statement.split()[2])

    event.listen(database.sync_engine, "before_cursor_execute", note)
    await apply(store, PERIODS, SIX_YEARS, limits=RemovalLimits(2, 2))
    first, second = (n for n, table in enumerate(deletions) if table == "retry_decisions")
    assert "claim_events" in deletions[first:second]


async def test_errors_stay_counted_when_their_decisions_are_gone(stories: Store) -> None:
    await apply(stories, PERIODS, SIX_YEARS, limits=RemovalLimits(1))
    async with stories.reading() as tx:
        [(day, classification, _, number)] = await tx.expired.statistics()
    assert (day, classification, number) == (NOW.date(), "TRANSIENT", 1)


async def test_error_counts_go_too_where_a_period_is_set_and_a_dry_run_says_so(stories: Store) -> None:
    limited = Periods(error_analysis=5 * YEAR)
    for expected in (0, 1, 0):  # what a run counts is due in the next
        counted = await preview(stories, limited, SIX_YEARS)
        assert counted["error counts"] == expected
        assert await apply(stories, limited, SIX_YEARS) == counted


async def test_payloads_go_earlier_than_their_history(store: Store) -> None:
    await story(store, OLD, NOW, 1)
    removed = await apply(store, PERIODS, NOW + timedelta(days=91))
    assert removed["payloads of sends"] == 1
    assert "submission_attempts" in await about(store, OLD)


async def test_a_claim_that_is_not_closed_stays(store: Store) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(OLD, "payer-1", ClaimState.FAILED, now=NOW)
        await tx.claims.move(OLD, ClaimState.IN_REVIEW, now=NOW)
    await apply(store, PERIODS, SIX_YEARS)
    assert "claims" in await about(store, OLD)


async def test_a_hold_is_placed_once_and_released_once(store: Store) -> None:
    hold = LegalHold(OLD, "case 7", NOW)
    assert [await store.run(lambda tx: tx.holds.place(hold)) for _ in range(2)] == [True, False]
    async with store.reading() as tx:
        assert await tx.holds.all() == [hold]
    assert [await store.run(lambda tx: tx.holds.release(OLD, now=NOW)) for _ in range(2)] == [True, False]


async def test_the_reason_of_a_hold_names_the_case_and_no_person(store: Store) -> None:
    case = "0001234-56.2026.8.26.0100"
    reason = f"processo {case}; paciente: Maria Aparecida; CPF 529.982.247-25"
    await store.run(lambda tx: tx.holds.place(LegalHold(OLD, reason, NOW)))
    async with store.reading() as tx:
        [kept] = await tx.holds.all()
    assert kept.reason == f"processo {case}; paciente: [removed]; CPF [removed]"
