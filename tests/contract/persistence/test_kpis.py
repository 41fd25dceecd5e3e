"""KPIs from the database are those that plain loops over the same claims come to, to the last digit."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.kpis.definitions import KPIS, KpiName
from domain.kpis.periods import Frequency, Period, period_of
from domain.kpis.tally import Counted, KpiTally
from persistence.store import Store
from tests.support.kpi_counting import Heap, heaps, values
from tests.support.kpi_history import BEGIN, DAYS, PAYERS, Decided, Sent, Story, keep, stories
from workers.upkeep.kpis import fill_in, take_snapshot
from workers.upkeep.scorecard import AskedKpis, scorecard

ZONE = "America/Sao_Paulo"
NOW = BEGIN + timedelta(days=DAYS + 20)


@pytest.fixture
def told() -> list[Story]:
    return list(stories(1_000))


@pytest.fixture
async def history(store: Store, database: AsyncEngine, told: list[Story]) -> Store:
    await keep(database, told)
    await fill_in(store, NOW)
    return store


def of(counted: Counted) -> dict[str, object]:
    return {kpi.name.value: kpi.measure(counted).value for kpi in KPIS}


async def test_ten_thousand_decisions_give_the_same_digits_as_plain_loops(
    store: Store, database: AsyncEngine
) -> None:
    told = list(stories(10_000))
    await keep(database, told)
    await fill_in(store, NOW)
    expected = heaps(told, ZONE)
    async with store.reading() as tx:
        for frequency in Frequency:
            for first in sorted({key[1] for key in expected if key[0] == frequency}):
                period = period_of(frequency, first, ZoneInfo(ZONE))
                found: dict[str | None, Counted]
                found = {None: await tx.kpis.counted(period)}
                found.update(dict(await tx.kpis.by_payer(period)).items())
                heaped = {payer: expected.get((frequency, first, payer)) for payer in (None, *PAYERS)}
                assert set(found) == {payer for payer, heap in heaped.items() if heap}
                for payer, counted in found.items():
                    heap = heaped[payer] or Heap()
                    assert of(counted) == values(heap), (period.name, payer)
                    assert counted.tally.running == heap.open
                    assert counted.tally.running_retried == heap.open_retried
                assert await tx.kpis.counted(period, PAYERS[0]) == found[PAYERS[0]]


async def test_a_run_of_days_is_counted_as_the_days_together(history: Store) -> None:
    zone, first = ZoneInfo(ZONE), date(2026, 3, 10)
    days = [Period(first + timedelta(days=n), first + timedelta(days=n), zone) for n in range(10)]
    async with history.reading() as tx:
        whole = await tx.kpis.counted(Period(days[0].first, days[-1].last, zone))
        parts = [(await tx.kpis.counted(day)).tally for day in days]
    assert sum(parts, KpiTally()) == whole.tally


async def test_a_scorecard_of_many_days_is_what_counting_them_at_once_gives(history: Store) -> None:
    asked = AskedKpis(ZoneInfo(ZONE), NOW, (date(2026, 3, 5), date(2026, 4, 20)))
    card = await scorecard(history, asked)
    async with history.reading() as tx:
        counted = await tx.kpis.counted(asked.period(Frequency.DAILY))
        before = await tx.kpis.counted(asked.period(Frequency.DAILY).before)
    assert [score.measure for score in card.scores] == [kpi.measure(counted) for kpi in KPIS]
    assert [score.before for score in card.scores] == [kpi.measure(before) for kpi in KPIS]
    assert [tally for _, tally in card.tallies] == [counted.tally]


async def test_the_claims_behind_a_number_are_as_many_as_it_says(history: Store) -> None:
    period = Period(date(2026, 3, 9), date(2026, 3, 15), ZoneInfo(ZONE))
    async with history.reading() as tx:
        counted = await tx.kpis.counted(period)
        for kpi in KPIS:
            behind = await tx.kpis.behind(kpi.name, period, None, 10_000)
            assert len(behind) == kpi.measure(counted).claims, kpi.name
            assert len({one.claim_id for one in behind}) == len(behind)
            if kpi.unit == "share":
                assert sum(one.counts for one in behind) == kpi.measure(counted).numerator, kpi.name


async def test_the_claims_behind_a_number_say_how_many_retries_were_sent(
    history: Store, told: list[Story]
) -> None:
    known = {story.claim_id: story for story in told}
    whole = Period(BEGIN.date(), (BEGIN + timedelta(days=2 * DAYS)).date(), ZoneInfo(ZONE))
    async with history.reading() as tx:
        behind = await tx.kpis.behind(KpiName.PERMANENT_ERRORS, whole, None, 10_000)
        lost = await tx.kpis.behind(KpiName.LOST_CLAIMS, whole, None, 10_000)
    assert [one.retries_sent for one in lost if one.counts] == [5] * sum(one.counts for one in lost)
    assert any(one.counts for one in lost)
    assert [one.retries_sent for one in behind] == [first_retries(known[one.claim_id]) for one in behind]


def first_retries(story: Story) -> int | None:
    """Sends after the first failure and before the claim was given up, or up to the one that was taken."""
    taken = next(
        (n for n, one in enumerate(story.sent) if one.outcome == "ACCEPTED" and not one.undone), None
    )
    end = next((one.at for one in story.decided if one.end), None)
    is_saved = taken is not None and (end is None or story.sent[taken].started < end)
    sends = story.sent[: taken + 1] if taken is not None and is_saved else story.sent
    if story.payer is None:
        return None
    return sum(one.started > story.decided[0].at and (end is None or one.started < end) for one in sends)


async def test_recovered_by_people_is_not_a_first_send_whose_answer_came_late(
    store: Store, database: AsyncEngine
) -> None:
    at = BEGIN + timedelta(days=3)

    def story(number: int, *sent: Sent, end: str | None = None) -> Story:
        told = Story(f"CLM-998-{number}", PAYERS[0], "ACCEPTED")
        told.decided, told.sent = [Decided(at, 0, end)], list(sent)
        return told

    hour = timedelta(hours=1)
    taken_late = Sent(at - hour, at + hour, "ACCEPTED")
    failed = Sent(at - hour, at - hour / 2, "FAILED")
    taken_again = Sent(at + hour, at + 2 * hour, "ACCEPTED")
    told = [
        story(1, taken_late),
        story(2, failed, end="PERMANENT"),
        story(3, failed, taken_again, end="PERMANENT"),
    ]
    await keep(database, told)
    await fill_in(store, NOW)
    day = period_of(Frequency.DAILY, at.astimezone(ZoneInfo(ZONE)).date(), ZoneInfo(ZONE))
    async with store.reading() as tx:
        tally = (await tx.kpis.counted(day)).tally
        [by_payer] = (await tx.kpis.by_payer(day)).values()
    assert (tally.recovered, tally.by_people) == (0, 2)  # by a person's word, and in a later round
    assert by_payer.tally == tally


async def test_filling_in_again_changes_nothing(history: Store, told: list[Story]) -> None:
    before = await history.look(lambda tx: tx.first_rounds.find(told[0].claim_id))
    assert before is not None
    assert await fill_in(history, NOW) == 0
    await history.run(lambda tx: tx.first_rounds.rebuild([told[0].claim_id]))
    assert await history.look(lambda tx: tx.first_rounds.find(told[0].claim_id)) == before


async def test_an_acceptance_that_an_earlier_version_wrote_down_is_noticed(
    history: Store, database: AsyncEngine
) -> None:
    now, claim = BEGIN + timedelta(days=90), "CLM-999-2"
    late = Story(claim, PAYERS[0], "ACCEPTED")
    late.decided, sends = _one_retry(now - timedelta(days=1))
    late.sent = sends
    await keep(database, [late])
    await fill_in(history, now)
    await history.run(lambda tx: tx.first_rounds.forget_acceptance(claim))  # as if nobody had kept it
    assert await fill_in(history, now) == 1
    found = await history.look(lambda tx: tx.first_rounds.find(claim))
    assert found is not None
    assert found.recovery is not None


async def test_a_snapshot_taken_twice_is_one_and_a_later_acceptance_changes_it(
    history: Store, database: AsyncEngine
) -> None:
    now, zone = BEGIN + timedelta(days=20), ZoneInfo(ZONE)
    assert await take_snapshot(history, zone, now) == await take_snapshot(history, zone, now)
    before = {one.kpi: one for one in await history.look(lambda tx: tx.kpi_snapshots.latest(now=NOW))}
    assert len(before) == len(KPIS)
    late = Story("CLM-999-1", PAYERS[0], "ACCEPTED")
    late.decided, late.sent = _one_retry(now - timedelta(days=1, hours=1))
    await keep(database, [late])
    await take_snapshot(history, zone, now + timedelta(minutes=1))
    after = {one.kpi: one for one in await history.look(lambda tx: tx.kpi_snapshots.latest(now=NOW))}
    success = KPIS[0].name
    assert after[success].measure.numerator == before[success].measure.numerator + 1
    assert after[success].first_day == before[success].first_day


async def test_what_clocks_that_were_ahead_have_counted_is_not_the_latest_and_goes(history: Store) -> None:
    now, zone = BEGIN + timedelta(days=20), ZoneInfo(ZONE)
    await take_snapshot(history, zone, now)
    right = await history.look(lambda tx: tx.kpi_snapshots.latest(now=now))
    await take_snapshot(history, zone, now + timedelta(days=40))
    assert set(await history.look(lambda tx: tx.kpi_snapshots.latest(now=now))) == set(right)
    assert await history.look(lambda tx: tx.kpi_snapshots.last_taken_at(now=now)) == now
    await take_snapshot(history, zone, later := now + timedelta(minutes=10))
    far = now + timedelta(days=400)
    assert await history.look(lambda tx: tx.kpi_snapshots.last_taken_at(now=far)) == later
    latest = await history.look(lambda tx: tx.kpi_snapshots.latest(now=far))
    assert {(one.kpi, one.first_day) for one in latest} == {(one.kpi, one.first_day) for one in right}


async def test_gauges_are_read_from_the_latest_snapshot_with_both_rules_targets(history: Store) -> None:
    now = BEGIN + timedelta(days=20)
    await take_snapshot(history, ZoneInfo(ZONE), now)
    readings = await history.look(lambda tx: tx.kpi_snapshots.readings(now=NOW))
    latest = {one.kpi: one for one in await history.look(lambda tx: tx.kpi_snapshots.latest(now=NOW))}
    values_of = {
        (one.labels["kpi"], one.labels["rule"]): one.value for one in readings if one.metric == "reenvio_kpi"
    }
    success = latest[KPIS[0].name].measure.value
    assert success is not None
    assert values_of["success_after_retry", "RN-BIL-004"] == float(success)
    assert values_of["success_after_retry", "RN-BIL-005"] == float(success)
    targets = {
        (one.labels["kpi"], one.labels["rule"]): one.value
        for one in readings
        if one.metric == "reenvio_kpi_target"
    }
    assert targets["success_after_retry", "RN-BIL-004"] == 0.85
    assert targets["success_after_retry", "RN-BIL-005"] == 0.8
    assert targets["mean_time_to_success", "RN-BIL-005"] == 7_200
    assert len(targets) == 8


def _one_retry(at: datetime) -> tuple[list[Decided], list[Sent]]:
    def later(seconds: int) -> datetime:
        return at + timedelta(seconds=seconds)

    sends = [Sent(later(-9), later(-2), "FAILED"), Sent(later(600), later(601), "ACCEPTED")]
    return [Decided(at, 0)], sends
