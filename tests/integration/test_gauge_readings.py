"""Gauges as the database knows them, and without it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bpmn.names import JobType
from domain.claim_state import ClaimState
from domain.mail.mail import MailState
from domain.payer_status import PayerState
from domain.readings import Reading
from domain.slots import Wait
from persistence.repositories.claims import ClaimRow
from persistence.repositories.incidents import StuckJob
from persistence.repositories.upkeep_runs import UpkeepTask
from persistence.store import Store
from persistence.tables import claims, first_rounds, retry_decisions
from tests.support.builders import NOW, POLICY, draft, later
from tests.support.mail_stage import MovableClock
from tests.support.mails import a_mail, keep_dead
from workers.app.telemetry.business import KnownNames
from workers.app.telemetry.gauges import Gauges, GaugeSource
from workers.app.telemetry.label_names import LabelNames
from workers.app.telemetry.readings import DatabaseReadings
from workers.payers.limits import LimitsByPayer
from workers.upkeep.kpis import take_snapshot


@pytest.fixture
def readings(store: Store) -> DatabaseReadings:
    names = KnownNames(LabelNames(["payer-0", "payer-1"]), LabelNames(at_most=2))
    return DatabaseReadings(store, MovableClock(), LimitsByPayer(), names)


def values(found: object, metric: str) -> dict[tuple[str, ...], float]:
    assert isinstance(found, list)
    mine = [one for one in found if isinstance(one, Reading) and one.metric == metric]
    return {tuple(one.labels.values()): one.value for one in mine}


async def keep_claims(database: AsyncEngine, *rows: tuple[ClaimState, int]) -> None:
    async with database.begin() as connection:
        for number, (state, retries) in enumerate(rows):
            row = ClaimRow(f"CLM-1-{number}", "p", state, retries, None, None, None, NOW)
            values = {name: getattr(row, name) for name in ("claim_id", "payer_id", "state", "retry_count")}
            await connection.execute(insert(claims).values(values | {"created_at": NOW, "updated_at": NOW}))


async def test_claims_are_counted_by_state_also_where_there_are_none(
    readings: DatabaseReadings, database: AsyncEngine
) -> None:
    await keep_claims(database, (ClaimState.WAITING, 1), (ClaimState.WAITING, 1), (ClaimState.ACCEPTED, 0))
    found = [*await readings.open_claims(), *await readings.ended_claims()]
    counted = values(found, "reenvio_claims")
    assert counted == {(state.value,): 0 for state in ClaimState} | {("WAITING",): 2, ("ACCEPTED",): 1}


async def keep_rounds(database: AsyncEngine, *rounds: dict[str, object]) -> None:
    """First rounds of claims that are kept, in their order."""
    async with database.begin() as connection:
        for number, one in enumerate(rounds):
            row = {"claim_id": f"CLM-1-{number}", "payer_id": "p", "first_failed_at": later(hours=-3)}
            await connection.execute(insert(first_rounds).values(row | {"is_retried": True} | one))


TAKEN: dict[str, object] = {"accepted_at": later(hours=-2)}
SPENT: dict[str, object] = {"given_up": "RETRIES", "given_up_at": later(hours=-1)}
YESTERDAY: dict[str, object] = {"first_failed_at": later(hours=-25)}


async def success_rate(readings: DatabaseReadings) -> dict[tuple[str, ...], float]:
    return values(await readings.success_rates(), "retry_success_rate")


async def test_claims_in_review_whose_retries_are_spent_count_as_failed(
    readings: DatabaseReadings, database: AsyncEngine
) -> None:
    assert await success_rate(readings) == {}
    await keep_claims(database, *[(ClaimState.IN_REVIEW, 5)] * 9, (ClaimState.ACCEPTED, 1))
    await keep_rounds(database, *[SPENT] * 9, TAKEN)
    assert await success_rate(readings) == {("RN-BIL-005",): 0.1}


async def test_the_success_rate_is_of_closed_first_rounds_that_had_a_retry(
    readings: DatabaseReadings, database: AsyncEngine
) -> None:
    lost, by_a_person = (ClaimState.WRITTEN_OFF, 5), (ClaimState.ACCEPTED, 0)
    waits, at_once = (ClaimState.WAITING, 2), (ClaimState.IN_REVIEW, 0)
    await keep_claims(database, *[(ClaimState.ACCEPTED, 1)] * 2, lost, by_a_person, waits, at_once, lost)
    refused: dict[str, object] = {"is_retried": False, "given_up": "PERMANENT"}
    await keep_rounds(database, TAKEN, TAKEN, SPENT, SPENT, {}, refused, SPENT | YESTERDAY)
    assert await success_rate(readings) == {("RN-BIL-005",): 0.5}


async def test_mail_is_counted_by_what_became_of_its_attempts(
    readings: DatabaseReadings, store: Store
) -> None:
    async with store.transaction() as tx:
        await tx.mails.add(a_mail(1, state=MailState.SENT, attempts=2))
        await tx.mails.add(a_mail(2, attempts=1, enqueued_at=later(minutes=-5)))
        await tx.mails.add(a_mail(3, attempts=1, enqueued_at=later(days=-3)))
    rates = values(await readings.success_rates(), "retry_success_rate")
    assert rates == {("03", "1"): 0.0, ("03", "2"): 1.0}
    found = await readings.mail()
    assert values(found, "reenvio_mails_waiting") == {(): 2}
    queues = {("email:send", "wait"): 0, ("email:send", "active"): 0, ("email:send", "delayed"): 2}
    assert values(found, "reenvio_mail_queue_size") == queues
    assert values(found, "reenvio_mail_oldest_seconds") == {(): timedelta(days=3).total_seconds()}


async def test_mail_that_is_sent_again_waits_since_it_was_brought_back(
    readings: DatabaseReadings, store: Store
) -> None:
    died = a_mail(1, enqueued_at=later(days=-6), state=MailState.FAILED, attempts=5)
    async with store.transaction() as tx:
        await tx.mails.add(died.requeued(later(minutes=-2)))
        assert (await tx.mails.pending(NOW)).oldest == later(minutes=-2)
    assert values(await readings.mail(), "reenvio_mail_oldest_seconds") == {(): 120}


async def test_nothing_waits_where_there_is_no_mail(readings: DatabaseReadings) -> None:
    found = await readings.mail()
    assert {one.value for one in found} == {0}


async def test_dead_letters_have_their_ages_and_the_biggest_companies_their_names(
    readings: DatabaseReadings, store: Store
) -> None:
    await keep_dead(store, range(3), at=later(minutes=-10), company_id="big")
    for number in range(3, 25):
        await keep_dead(store, [number], at=later(days=-5), company_id=f"small-{number}")
    found = await readings.letters()
    assert values(found, "dlq_size") == values(found, "dlq_age_seconds_count") == {(): 25}
    assert values(found, "reenvio_mail_queue_size") == {("email:send:dlq", "failed"): 25}
    buckets = values(found, "dlq_age_seconds_bucket")
    assert (buckets[("300",)], buckets[("900",)], buckets[("345600",)]) == (0, 3, 3)
    assert buckets[("604800",)] == buckets[("+Inf",)] == 25
    total = 3 * 600 + 22 * timedelta(days=5).total_seconds()
    assert values(found, "dlq_age_seconds_sum")[()] == pytest.approx(total, abs=25)
    companies = values(found, "reenvio_dead_letters")
    assert len(companies) == 21
    assert (companies[("big",)], companies[("other",)]) == (3, 25 - 3 - 19)


async def test_a_company_that_is_called_other_is_added_to_the_others(
    readings: DatabaseReadings, store: Store
) -> None:
    for number, company in enumerate(["other", "other", "none", "52998224725", "big"]):
        await keep_dead(store, [number], at=later(minutes=-10), company_id=company)
    found = await readings.letters()
    assert values(found, "reenvio_dead_letters") == {("big",): 1, ("other",): 4}
    assert len([one for one in found if one.metric == "reenvio_dead_letters"]) == 2


async def test_letters_dated_ahead_of_2038_are_no_seconds_old_and_take_nothing_from_the_others(
    readings: DatabaseReadings, store: Store
) -> None:
    await keep_dead(store, [1], at=datetime(2038, 2, 1, tzinfo=UTC), company_id="a")
    await keep_dead(store, [2], at=later(minutes=-10), company_id="a")
    found = await readings.letters()
    assert values(found, "dlq_age_seconds_count") == {(): 2}
    assert values(found, "dlq_age_seconds_sum")[()] == pytest.approx(600, abs=2)


async def keep_payer(store: Store, payer_id: str, **changes: object) -> None:
    async with store.transaction() as tx:
        status = await tx.payers.lock(payer_id, now=NOW)
        await tx.payers.save(replace(status, **changes))  # type: ignore[arg-type]


async def test_the_time_without_claims_counts_from_the_databases_moment_through_all_trials(
    readings: DatabaseReadings, store: Store
) -> None:
    outage = {"opened_at": later(minutes=-40), "changed_at": later(minutes=-1)}
    for state in (PayerState.OPEN, PayerState.HALF_OPEN):
        await keep_payer(store, "payer-0", state=state, **outage)
        held = values(await readings.payers(), "reenvio_payer_held_seconds")
        assert {key: value for key, value in held.items() if value} == {("payer-0", state): 2_400}


async def test_a_payer_that_takes_claims_is_held_for_no_time(
    readings: DatabaseReadings, store: Store
) -> None:
    await keep_payer(store, "payer-0", changed_at=later(hours=-9))
    held = values(await readings.payers(), "reenvio_payer_held_seconds")
    assert held == {("payer-0", state): 0 for state in ("OPEN", "HALF_OPEN", "PAUSED", "STOPPED")}


async def test_stopped_payers_are_counted_also_those_without_a_name(
    readings: DatabaseReadings, store: Store
) -> None:
    for payer_id in ("payer-0", "stranger-1", "stranger-2"):
        await keep_payer(store, payer_id, state=PayerState.STOPPED)
    counted = values(await readings.payers(), "reenvio_payers")
    assert counted == {(state.value,): 0 for state in PayerState} | {("STOPPED",): 3}


def stuck_on(job_type: str) -> StuckJob:
    return StuckJob("a person must look", NOW, job_type, 1, 1, "Task", 43, 7)


async def test_open_incidents_are_counted_by_the_job_that_raised_them(
    readings: DatabaseReadings, store: Store
) -> None:
    types = ["submit-claim", "submit-claim", "notify", "send-email-3", "of-nobody"]
    async with store.transaction() as tx:
        for number, job_type in enumerate(types):
            await tx.incidents.make_known(f"CLM-1-{number}", "p", now=NOW)
            assert await tx.incidents.note(f"CLM-1-{number}", stuck_on(job_type), sends=True)
        await tx.incidents.make_known("CLM-1-9", "p", now=NOW)
    found = values(await readings.incidents(), "reenvio_incidents")
    standing = {("submit-claim",): 2, ("notify",): 1, ("send-email",): 1, ("other",): 1}
    assert found == {(one.value,): 0 for one in JobType} | standing
    await store.run(lambda tx: tx.incidents.clear("CLM-1-0", stuck_on("submit-claim")))
    assert values(await readings.incidents(), "reenvio_incidents")[("submit-claim",)] == 1


async def test_a_claim_that_has_ended_rings_for_nobody(readings: DatabaseReadings, store: Store) -> None:
    async with store.transaction() as tx:
        await tx.incidents.make_known("CLM-1-0", "p", now=NOW)
        await tx.claims.move("CLM-1-0", ClaimState.ACCEPTED, now=NOW)
        assert await tx.incidents.note("CLM-1-0", stuck_on("submit-claim"), sends=True)
    assert values(await readings.incidents(), "reenvio_incidents")[("submit-claim",)] == 0


async def test_payers_beyond_the_named_ones_are_one(readings: DatabaseReadings, store: Store) -> None:
    async with store.transaction() as tx:
        for number in range(4):
            status = await tx.payers.lock(f"payer-{number}", now=later(hours=-number))
            await tx.payers.save(replace(status, state=PayerState.OPEN if number == 3 else PayerState.CLOSED))
        for number in range(3):
            await tx.payers.hold(Wait(f"CLM-1-{number}", "payer-2", NOW, later(hours=1)))
        await tx.payers.send_began("CLM-1-9", 1, "payer-0", until=later(minutes=1))
        await tx.payers.send_began("CLM-1-8", 1, "payer-0", until=later(minutes=-1))
    found = await readings.payers()
    states = values(found, "reenvio_payer_state")
    assert (states["payer-0", "CLOSED"], states["payer-0", "OPEN"]) == (1, 0)
    assert (states["other", "CLOSED"], states["other", "OPEN"]) == (1, 1)
    assert len(states) == 3 * len(PayerState)
    assert values(found, "reenvio_payer_waiting") == {("payer-0",): 0, ("payer-1",): 0, ("other",): 3}
    assert values(found, "reenvio_payer_places_taken")[("payer-0",)] == 1
    assert values(found, "reenvio_payer_state_seconds")[("other",)] == 3 * 3_600
    assert values(found, "reenvio_payer_places")[("payer-1",)] == 10_000


async def ages(readings: DatabaseReadings) -> dict[str, float]:
    return {one.metric: one.value for one in await readings.upkeep()}


async def test_what_never_ran_is_as_old_as_the_schema(readings: DatabaseReadings, store: Store) -> None:
    now = await store.time()
    found = await ages(replace(readings, clock=MovableClock(now + timedelta(hours=30))))
    assert {name: round(age / 3_600) for name, age in found.items()} == {
        "reenvio_standing_look_age_seconds": 30,
        "reenvio_kpi_age_seconds": 30,
    }


async def test_the_last_look_and_the_last_count_are_told_by_their_age(
    readings: DatabaseReadings, store: Store
) -> None:
    now = await store.time() + timedelta(days=2)
    await store.run(lambda tx: tx.upkeep_runs.done(UpkeepTask.STANDING, now=now - timedelta(minutes=3)))
    await take_snapshot(store, UTC, now - timedelta(hours=5))
    found = await ages(replace(readings, clock=MovableClock(now)))
    assert found == {"reenvio_standing_look_age_seconds": 180, "reenvio_kpi_age_seconds": 5 * 3_600}


async def test_the_outboxs_lag_is_by_the_databases_own_clock(
    readings: DatabaseReadings, store: Store
) -> None:
    assert [one.value for one in await readings.outbox()] == [0, 0]
    now = await store.time()
    await store.record(draft("CLM-1-1", now=now - timedelta(minutes=2)))
    found = await readings.outbox()
    assert values(found, "reenvio_outbox_waiting")[()] >= 1
    assert 120 <= values(found, "reenvio_outbox_lag_seconds")[()] < 600


async def test_the_jitters_evenness_is_told_by_rule_from_stored_decisions(
    readings: DatabaseReadings, store: Store
) -> None:
    for number in range(40):
        await store.record(draft(f"CLM-1-{number}", profile="RN-BIL-004"))
        await store.record(draft(f"CLM-2-{number}", profile="RN-BIL-005"))
    for number in range(40):
        await store.record(draft(f"CLM-3-{number}", now=later(days=-2)))
        await store.record(draft(f"CLM-4-{number}", deadline=later(hours=4, minutes=5, seconds=30)))
    found = values(await readings.jitter(), "reenvio_jitter_deviation_ratio")
    assert set(found) == {("RN-BIL-004",), ("RN-BIL-005",)}
    assert all(by < 0.5 for by in found.values())


async def test_the_jitter_of_a_profile_of_ones_own_is_told_under_the_rule_that_it_follows(
    readings: DatabaseReadings, store: Store
) -> None:
    own = replace(POLICY.profiles["RN-BIL-005"], name="OWN")
    policy = replace(POLICY, profiles={**POLICY.profiles, "OWN": own})
    for number in range(40):
        await store.record(draft(f"CLM-1-{number}", policy=policy, profile="OWN"))
    assert set(values(await readings.jitter(), "reenvio_jitter_deviation_ratio")) == {("RN-BIL-005",)}


async def test_waits_of_claims_with_a_deadline_are_counted_where_it_is_too_far_away_to_shorten_them(
    readings: DatabaseReadings, store: Store, database: AsyncEngine
) -> None:
    for number in range(40):
        await store.record(draft(f"CLM-1-{number}", profile="RN-BIL-004", deadline=later(hours=48)))
        near = later(hours=4, minutes=5, seconds=30)
        await store.record(draft(f"CLM-2-{number}", profile="RN-BIL-005", deadline=near))
    async with database.begin() as connection:
        await connection.execute(update(retry_decisions).values(next_retry_time=later(seconds=330)))
    found = values(await readings.jitter(), "reenvio_jitter_deviation_ratio")
    assert set(found) == {("RN-BIL-004",)}
    assert found[("RN-BIL-004",)] > 5


async def test_waits_that_are_all_the_same_are_seen(
    readings: DatabaseReadings, store: Store, database: AsyncEngine
) -> None:
    for number in range(40):
        await store.record(draft(f"CLM-1-{number}"))
    async with database.begin() as connection:
        same = update(retry_decisions).values(next_retry_time=later(seconds=330))
        await connection.execute(same)
    found = values(await readings.jitter(), "reenvio_jitter_deviation_ratio")
    assert found[("RN-BIL-004",)] > 5


async def test_without_a_database_gauges_are_left_out_and_come_back(
    readings: DatabaseReadings, store: Store, database: AsyncEngine
) -> None:
    gauges = Gauges()
    gauges.add(GaugeSource("mail", readings.mail))
    await gauges.refresh()
    assert list(gauges.of("reenvio_mails_waiting")) == [Reading("reenvio_mails_waiting", 0)]
    async with database.begin() as connection:
        await connection.exec_driver_sql("ALTER TABLE mails RENAME TO gone")
    await gauges.refresh()
    assert list(gauges.of("reenvio_mails_waiting")) == []
    async with database.begin() as connection:
        await connection.exec_driver_sql("ALTER TABLE gone RENAME TO mails")
    await gauges.refresh()
    assert list(gauges.of("reenvio_mails_waiting")) == [Reading("reenvio_mails_waiting", 0)]
