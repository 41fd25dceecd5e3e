"""A worker that is killed and never comes back, on a broker that forgets the lock or the backoff of its job;
and a claim whose timer the broker forgets.

How Zeebe comes to forget one is a race (decision 27); here the engine is told to wait for ten years more.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyzeebe.proto.gateway_pb2 import FailJobRequest, UpdateJobTimeoutRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from bpmn.names import ProcessId, Variable
from domain.claim_state import ClaimState
from domain.outputs import iso_time
from domain.standing import HeldJob, JobPlace
from gateways.practice.simulator.ledger import TAKEN
from gateways.practice.simulator.scenario import Drop, Http, PayerScenario, Rule, Scenario
from gateways.zeebe import engine
from gateways.zeebe.commands import Modification
from persistence.repositories.claims import ClaimRow
from persistence.repositories.standstills import RestingJob
from tests.process.hospital import Hospital, claim_file, claim_id, open_hospital
from tests.process.records import Record, Records
from tests.process.stage import eventually
from tests.support.scraped import read_scrape
from tests.support.tiss_samples import PAYER
from workers.claims.examination import ClaimFile
from workers.demo.worker_process import WorkerProcess

STUCK, OTHER = "41001", "41002"
HANGS_ONCE = PayerScenario(
    registro_ans=PAYER, rules=(Rule(lote=STUCK, arrivals=(1,), then=Drop(how="hang")),)
)
FAILS_ONCE = PayerScenario(
    registro_ans=PAYER, rules=(Rule(lote=STUCK, arrivals=(1,), then=Http(status=503)),)
)
GATEWAY, HEALED = "Gateway_WaitForRetry", "reenvio_standing_healed_total"
FORGOTTEN = round(timedelta(days=3_650).total_seconds() * 1_000)
CYCLE = timedelta(minutes=5)


@asynccontextmanager
async def mortal(hospital: Hospital) -> AsyncIterator[WorkerProcess]:
    """A worker in a process of its own."""
    worker = WorkerProcess(hospital.environment, hospital.folder / "worker.log")
    worker.start()
    try:
        yield worker
    finally:
        worker.kill()


async def arrives_and_hangs(hospital: Hospital) -> ClaimRow:
    """The claim, once its batch is with a payer who does not answer."""

    async def look() -> bool | None:
        return hospital.arrivals(STUCK) == 1 or None

    await hospital.app.intake.submit(ClaimFile(claim_file(STUCK)))
    await eventually(look, f"{STUCK} to reach its payer")
    return await hospital.reaches(claim_id(STUCK), ClaimState.SUBMITTING)


async def forget_the_lock(hospital: Hospital, row: ClaimRow) -> None:
    stub: Any = GatewayStub(hospital.app.channel)
    assert row.job_key
    await stub.UpdateJobTimeout(UpdateJobTimeoutRequest(jobKey=row.job_key, timeout=FORGOTTEN))


async def forget_the_backoff(hospital: Hospital, row: ClaimRow) -> None:
    """A worker that the job came to again has put it off, and noted that before it told the engine."""
    stub: Any = GatewayStub(hospital.app.channel)
    assert row.job_key
    assert row.job_until
    assert row.job_place
    job = HeldJob(row.job_key, row.job_retries or 3, row.job_until, JobPlace.read(row.job_place))
    resting = RestingJob(row.claim_id, row.process_instance_key or 0, job)
    await hospital.app.store.run(lambda tx: tx.standstills.rests(resting))
    await stub.FailJob(
        FailJobRequest(jobKey=row.job_key, retries=row.job_retries or 3, retryBackOff=FORGOTTEN)
    )


async def stands_on_an_incident_that_nobody_noted(hospital: Hospital, row: ClaimRow) -> None:
    """As where the database was away when the job failed for good."""
    stub: Any = GatewayStub(hospital.app.channel)
    assert row.job_key
    await stub.FailJob(FailJobRequest(jobKey=row.job_key, retries=0, errorMessage="ask the payer first"))


async def another_is_accepted(hospital: Hospital, number: str) -> None:
    await hospital.app.intake.submit(ClaimFile(claim_file(number)))
    await hospital.reaches(claim_id(number), ClaimState.ACCEPTED)


async def the_watch_runs(hospital: Hospital, records: Records, by: timedelta) -> None:
    """Let engine time pass until the watch has run once more."""
    before = len(records.ended(ProcessId.MAINTENANCE_STANDING))
    await hospital.advance(by)

    async def look() -> bool | None:
        return len(records.ended(ProcessId.MAINTENANCE_STANDING)) > before or None

    await eventually(look, "the watch to run")


def by_the_same_job(records: Records, row: ClaimRow) -> None:
    """It was failed by its key, at no cost to its retries, and completed."""
    assert row.process_instance_key
    [failed] = records.of_instance(row.process_instance_key, "JOB", "FAILED")
    assert (failed.key, failed.value["retries"]) == (row.job_key, row.job_retries)
    [completed] = records.of_instance(row.process_instance_key, "JOB", "COMPLETED")
    assert completed.key == row.job_key


def by_a_task_begun_anew(records: Records, row: ClaimRow) -> None:
    """A job that the engine would not hand out any more is another's work now, which goes on from it."""
    instance = row.process_instance_key
    assert instance
    [canceled] = records.of_instance(instance, "JOB", "CANCELED")
    assert canceled.key == row.job_key
    [completed] = records.of_instance(instance, "JOB", "COMPLETED")
    assert completed.key != row.job_key
    created = records.of_instance(instance, "VARIABLE", "CREATED")
    [begun] = [one.value for one in created if one.value["name"] == Variable.RESOLVED_JOB]
    assert begun["value"] == str(row.job_key)


@pytest.mark.parametrize(
    ("forget", "healed"), [(forget_the_lock, by_the_same_job), (forget_the_backoff, by_a_task_begun_anew)]
)
async def test_a_killed_workers_claim_stands_still_is_found_and_reaches_its_protocol_once(
    own_broker: engine.RunningEngine,
    own_config: engine.EngineConfig,
    tmp_path: Path,
    forget: Callable[[Hospital, ClaimRow], Awaitable[None]],
    healed: Callable[[Records, ClaimRow], None],
) -> None:
    records = Records(own_config.log_file)
    scenario = Scenario(payers=(HANGS_ONCE,))
    async with open_hospital(own_broker, own_config.home, tmp_path, scenario=scenario) as hospital:
        async with mortal(hospital) as worker:
            row = await arrives_and_hangs(hospital)
            worker.kill()
        await forget(hospital, row)
        assert row.job_until
        async with hospital.working():
            late = row.job_until - await hospital.app.clock.now() + timedelta(minutes=10, seconds=1)
            await the_watch_runs(hospital, records, late + CYCLE)
            assert (await hospital.reaches(claim_id(STUCK), ClaimState.SUBMITTING)).job_key == row.job_key
            await another_is_accepted(hospital, OTHER)
            await hospital.advance(CYCLE)
            accepted = await hospital.reaches(claim_id(STUCK), ClaimState.ACCEPTED)
            await is_counted_as_healed(hospital, {"wait": 0, "job": 1, "mail": 0})
        healed(records, row)
        await prove(hospital, accepted)


async def test_an_incident_that_is_not_on_record_stays_a_persons_and_nothing_is_sent_again(
    own_broker: engine.RunningEngine, own_config: engine.EngineConfig, tmp_path: Path
) -> None:
    records, scenario = Records(own_config.log_file), Scenario(payers=(HANGS_ONCE,))
    async with open_hospital(own_broker, own_config.home, tmp_path, scenario=scenario) as hospital:
        async with mortal(hospital) as worker:
            row = await arrives_and_hangs(hospital)
            worker.kill()
        await stands_on_an_incident_that_nobody_noted(hospital, row)
        assert row.job_until
        async with hospital.working():
            late = row.job_until - await hospital.app.clock.now() + timedelta(minutes=10, seconds=1)
            await the_watch_runs(hospital, records, late + CYCLE)
            await another_is_accepted(hospital, OTHER)
            await the_watch_runs(hospital, records, CYCLE)
            await the_watch_runs(hospital, records, CYCLE)
        still = await hospital.app.store.look(lambda tx: tx.standstills.of_claims([claim_id(STUCK)]))
        assert [(one.nudged_at is not None, one.nudges) for one in still.values()] == [(True, 0)]
        assert hospital.arrivals(STUCK) == 1
        assert records.of_instance(row.process_instance_key or 0, "JOB", "CANCELED") == []
        assert records.of_instance(row.process_instance_key or 0, "INCIDENT", "RESOLVED") == []


async def forget_the_timer(hospital: Hospital, records: Records, row: ClaimRow) -> None:
    """The engine waits anew at the same gateway, for ten years, and nobody here knows."""
    instance = row.process_instance_key
    assert instance
    assert row.next_retry_time

    async def waiting() -> Record | None:
        begun = records.of_instance(instance, "PROCESS_INSTANCE", "ELEMENT_ACTIVATED")
        return next((one for one in begun if one.value["elementId"] == GATEWAY), None)

    gateway = await eventually(waiting, f"{row.claim_id} at its gateway")
    never = {str(Variable.NEXT_RETRY_TIME): iso_time(row.next_retry_time + timedelta(days=3_650))}
    await hospital.app.commands.modify(Modification(instance, gateway.key, GATEWAY, variables=never))


async def test_a_claim_whose_timer_is_forgotten_stands_still_is_found_and_woken_by_its_message(
    own_broker: engine.RunningEngine, own_config: engine.EngineConfig, tmp_path: Path
) -> None:
    records, scenario = Records(own_config.log_file), Scenario(payers=(FAILS_ONCE,))
    async with (
        open_hospital(own_broker, own_config.home, tmp_path, scenario=scenario) as hospital,
        hospital.working(),
    ):
        await hospital.app.intake.submit(ClaimFile(claim_file(STUCK)))
        await hospital.awaits_its_retry(claim_id(STUCK))
        row = await hospital.reaches(claim_id(STUCK), ClaimState.WAITING)
        await forget_the_timer(hospital, records, row)
        assert row.next_retry_time
        late = row.next_retry_time - await hospital.app.clock.now() + timedelta(minutes=10, seconds=1)
        await the_watch_runs(hospital, records, late + CYCLE)
        assert hospital.arrivals(STUCK) == 1
        await another_is_accepted(hospital, OTHER)
        await hospital.advance(CYCLE)
        accepted = await hospital.reaches(claim_id(STUCK), ClaimState.ACCEPTED)
        await is_counted_as_healed(hospital, {"wait": 1, "job": 0, "mail": 0})
        await prove(hospital, accepted)
        assert records.completed(row.process_instance_key or 0).count("Event_RetryRequested") == 1


async def is_counted_as_healed(hospital: Hospital, expected: dict[str, float]) -> None:
    """Let the next look of the watch come: it counts what has gone on, in the worker's own metrics."""

    async def look() -> bool | None:
        shown = read_scrape(hospital.app.metering.metrics.exposition().decode())
        return {dict(labels)["kind"]: value for labels, value in shown.of(HEALED).items()} == expected or None

    await hospital.advance(CYCLE)
    await eventually(look, f"{HEALED} {expected}")


async def prove(hospital: Hospital, accepted: ClaimRow) -> None:
    """One send was taken, and the claim's story tells of it."""
    sends = [one for one in hospital.simulator.ledger.entries if one.lote == STUCK]
    assert [one.verdict for one in sends].count(TAKEN) == 1
    assert accepted.protocol_number == sends[-1].protocol
    story = await hospital.app.store.look(lambda tx: tx.journal.of_claim(claim_id(STUCK)))
    told = [entry.event for entry in story if entry.event.startswith("standing")]
    assert told == ["standing_nudged", "standing_healed"]
