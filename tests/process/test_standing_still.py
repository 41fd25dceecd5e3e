"""A worker that is killed and never comes back, on a broker that forgets the lock of its job.

How Zeebe 8.6.0 comes to forget one is not known; here the engine is told to lock the job for ten years more.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyzeebe.proto.gateway_pb2 import UpdateJobTimeoutRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from bpmn.names import ProcessId
from domain.claim_state import ClaimState
from gateways.practice.simulator.ledger import TAKEN
from gateways.practice.simulator.scenario import Drop, PayerScenario, Rule, Scenario
from gateways.zeebe import engine
from persistence.repositories.claims import ClaimRow
from tests.process.hospital import Hospital, claim_file, claim_id, open_hospital
from tests.process.records import Records
from tests.process.stage import eventually
from tests.support.tiss_samples import PAYER
from workers.claims.examination import ClaimFile
from workers.demo.worker_process import WorkerProcess

STUCK, OTHER = "41001", "41002"
HANGS_ONCE = PayerScenario(
    registro_ans=PAYER, rules=(Rule(lote=STUCK, arrivals=(1,), then=Drop(how="hang")),)
)
FORGOTTEN = timedelta(days=3_650)
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
    timeout = int(FORGOTTEN.total_seconds() * 1_000)
    await stub.UpdateJobTimeout(UpdateJobTimeoutRequest(jobKey=row.job_key, timeout=timeout))


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


async def test_a_killed_workers_claim_stands_still_is_found_and_reaches_its_protocol_once(
    own_broker: engine.RunningEngine, own_config: engine.EngineConfig, tmp_path: Path
) -> None:
    records = Records(own_config.log_file)
    scenario = Scenario(payers=(HANGS_ONCE,))
    async with open_hospital(own_broker, own_config.home, tmp_path, scenario=scenario) as hospital:
        async with mortal(hospital) as worker:
            row = await arrives_and_hangs(hospital)
            worker.kill()
        await forget_the_lock(hospital, row)
        assert row.job_until
        async with hospital.working():
            late = row.job_until - await hospital.app.clock.now() + timedelta(minutes=10, seconds=1)
            await the_watch_runs(hospital, records, late + CYCLE)
            assert (await hospital.reaches(claim_id(STUCK), ClaimState.SUBMITTING)).job_key == row.job_key
            await another_is_accepted(hospital, OTHER)
            await hospital.advance(CYCLE)
            accepted = await hospital.reaches(claim_id(STUCK), ClaimState.ACCEPTED)
            await the_watch_runs(hospital, records, CYCLE)
        await prove(hospital, records, row, accepted)


async def prove(hospital: Hospital, records: Records, before: ClaimRow, accepted: ClaimRow) -> None:
    """One send was taken, by the same job with the same retries; nothing stands still any more."""
    sends = [one for one in hospital.simulator.ledger.entries if one.lote == STUCK]
    assert [one.verdict for one in sends].count(TAKEN) == 1
    assert accepted.protocol_number == sends[-1].protocol
    instance = before.process_instance_key
    assert instance
    [failed] = records.of_instance(instance, "JOB", "FAILED")
    assert (failed.key, failed.value["retries"]) == (before.job_key, before.job_retries)
    [completed] = records.of_instance(instance, "JOB", "COMPLETED")
    assert completed.key == before.job_key
    story = await hospital.app.store.look(lambda tx: tx.journal.of_claim(claim_id(STUCK)))
    told = [entry.event for entry in story if entry.event.startswith("standing")]
    assert told == ["standing_nudged", "standing_healed"]
