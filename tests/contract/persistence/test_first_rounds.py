"""First rounds are kept with each decision and answer as they would be made anew from all of them."""

from datetime import UTC, datetime

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from domain.kpis.definitions import KpiName
from domain.kpis.periods import day_of
from domain.kpis.rounds import FirstRound, GivenUp, NumberedSend
from domain.kpis.tally import KpiTally
from persistence.repositories.attempts import AttemptResult
from persistence.repositories.first_rounds import TakenSend
from persistence.store import Store
from persistence.tables import first_rounds
from tests.support.builders import CLAIM, NOW, REFUSAL, draft, later


async def kept(store: Store, claim: str = CLAIM) -> FirstRound | None:
    """The row as it is, which must be what rebuilding it gives."""
    found = await store.look(lambda tx: tx.first_rounds.find(claim))
    await store.run(lambda tx: tx.first_rounds.rebuild([claim]))
    assert await store.look(lambda tx: tx.first_rounds.find(claim)) == found
    return found


async def send(store: Store, outcome: str, at: datetime) -> None:
    """One send of the claim that took a second."""
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "p1", ClaimState.SUBMITTING, now=at)
        number = await tx.attempts.start(CLAIM, 7, now=at)
        ended = at + (later(seconds=1) - NOW)
        await tx.attempts.finish(CLAIM, number, AttemptResult(outcome, {}), now=ended)
        if outcome == "ACCEPTED":
            sends = (await tx.attempts.history(CLAIM)).sends
            numbered = tuple(NumberedSend(one.attempt, one.started_at) for one in sends)
            await tx.first_rounds.take_all([TakenSend(CLAIM, numbered, ended)])


async def test_a_claim_that_a_retry_saves_is_recovered(store: Store) -> None:
    await send(store, "FAILED", later(seconds=-5))
    await store.record(draft(now=NOW))
    await send(store, "FAILED", later(minutes=10))
    await store.record(draft(now=later(minutes=11), count=1))
    await send(store, "ACCEPTED", later(minutes=30))
    found = await kept(store)
    assert found is not None
    assert (found.payer_id, found.first_failed_at, found.is_retried) == ("p1", NOW, True)
    assert found.recovery is not None
    assert found.recovery.retries_sent == 2
    assert found.recovery.since_failure_us == (30 * 60 + 1) * 1_000_000
    assert found.recovery.since_send_us == (30 * 60 + 6) * 1_000_000


async def test_a_clock_that_was_set_back_spoils_no_kpi(store: Store) -> None:
    ahead = later(hours=3)
    await send(store, "FAILED", ahead)
    await store.record(draft(now=ahead))
    await send(store, "FAILED", later(minutes=10))
    await store.record(draft(now=later(minutes=11), count=1))
    await send(store, "ACCEPTED", later(minutes=30))
    found = await kept(store)
    assert found is not None
    assert found.recovery is not None
    assert (found.first_failed_at, found.recovery.retries_sent) == (ahead, 2)
    tally, middle = await counted(store)
    assert (tally.recovered, tally.untimed, tally.since_failure_us, middle) == (1, 1, 0, None)


async def test_times_that_an_earlier_version_kept_below_zero_are_left_out(
    store: Store, database: AsyncEngine
) -> None:
    await send(store, "FAILED", later(seconds=-5))
    await store.record(draft(now=NOW))
    await send(store, "ACCEPTED", later(minutes=30))
    async with database.begin() as connection:
        await connection.execute(update(first_rounds).values(since_failure_us=-7, since_send_us=3))
    tally, middle = await counted(store)
    assert (tally.recovered, tally.untimed, tally.since_send_us, middle) == (1, 1, 0, None)
    async with store.reading() as tx:
        [behind] = await tx.kpis.behind(KpiName.TIME_TO_SUCCESS, day_of(NOW.date(), UTC), None, 10)
        by_payer = await tx.kpis.by_payer(day_of(NOW.date(), UTC))
    assert (behind.counts, behind.is_timed) == (False, False)
    assert by_payer["p1"].middle_us is None


async def counted(store: Store) -> tuple[KpiTally, tuple[int, int] | None]:
    found = await store.look(lambda tx: tx.kpis.counted(day_of(NOW.date(), UTC)))
    return found.tally, found.middle_us


async def test_a_claim_given_up_and_saved_after_a_review_stays_given_up(store: Store) -> None:
    await send(store, "FAILED", later(seconds=-5))
    await store.record(draft(now=NOW))
    await send(store, "FAILED", later(minutes=10))
    await store.record(draft(now=later(minutes=11), error=REFUSAL, count=1))
    await send(store, "FAILED", later(minutes=60))
    await store.record(draft(now=later(minutes=61), count=0))
    await send(store, "ACCEPTED", later(minutes=90))
    found = await kept(store)
    assert found is not None
    assert (found.given_up, found.given_up_at) == (GivenUp.PERMANENT, later(minutes=11))
    assert found.recovery is None


async def test_spent_retries_and_deadlines_are_told_apart(store: Store) -> None:
    await store.record(draft("CLM-1-1", now=NOW, count=5))
    await store.record(draft("CLM-1-2", now=NOW, deadline=later(minutes=1)))
    spent, late = await kept(store, "CLM-1-1"), await kept(store, "CLM-1-2")
    assert spent is not None
    assert late is not None
    assert (spent.given_up, late.given_up) == (GivenUp.RETRIES, GivenUp.DEADLINE)
    assert spent.payer_id is None


async def test_an_acceptance_that_the_payer_cancels_is_none(store: Store) -> None:
    await send(store, "FAILED", later(seconds=-5))
    await store.record(draft(now=NOW))
    await send(store, "ACCEPTED", later(minutes=10))
    async with store.transaction() as tx:
        await tx.attempts.undo(CLAIM, before=3, now=later(minutes=20))
        await tx.first_rounds.forget_acceptance(CLAIM)
    found = await kept(store)
    assert found is not None
    assert found.recovery is None


async def test_a_claim_that_never_failed_has_no_row(store: Store) -> None:
    await send(store, "ACCEPTED", NOW)
    assert await kept(store) is None
