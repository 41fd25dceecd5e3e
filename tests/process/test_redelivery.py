"""RN-BIL-005 13.5.8 on a real broker: a job that is given out twice is decided once."""

from datetime import timedelta
from typing import Any

from pyzeebe.proto.gateway_pb2 import ActivatedJob, ActivateJobsRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub
from sqlalchemy import text

from bpmn.names import JobType, ProcessId
from persistence.database.engine import close_database, open_database
from tests.process.stage import Claim, Stage, eventually
from workers.jobs import all_handlers
from workers.runtime import Complete
from workers.runtime.job_reading import read_job

LOCK = timedelta(seconds=20)


async def given_out(stage: Stage, claim: Claim) -> ActivatedJob:
    """The claim's job, taken as a worker takes it; nobody else gets it until its lock ends."""
    stub: Any = GatewayStub(stage.app.channel)
    request = ActivateJobsRequest(
        type=JobType.ANALYZE_RETRY,
        worker="dies-before-it-reports",
        timeout=int(LOCK.total_seconds() * 1_000),
        maxJobsToActivate=100,
    )

    async def look() -> ActivatedJob | None:
        taken = [job async for answer in stub.ActivateJobs(request) for job in answer.jobs]
        return next((job for job in taken if job.processInstanceKey == claim.instance), None)

    return await eventually(look, f"the job of {claim.id}")


async def records_of(stage: Stage, claim: Claim) -> list[int]:
    """How many decisions, audit records of a decision and events there are about a claim."""
    database = open_database(stage.settings.database)
    try:
        async with database.connect() as connection:
            return [
                await connection.scalar(text(query), {"claim": claim.id.value}) or 0
                for query in (
                    "SELECT count(*) FROM retry_decisions WHERE claim_id = :claim",
                    "SELECT count(*) FROM audit_events WHERE claim_id = :claim AND event = 'DECIDED'",
                    "SELECT count(*) FROM outbox WHERE claim_id = :claim AND type = 'RetryScheduledEvent'",
                )
            ]
    finally:
        await close_database(database)


async def test_bil_005_13_5_8_a_job_whose_answer_was_lost_is_answered_again_as_before(stage: Stage) -> None:
    claim = await stage.run(ProcessId.SUB_06_ANALYZE, submissionError="TIMEOUT", retryCount=3)
    first = await given_out(stage, claim)
    [analyze] = [one for one in all_handlers(stage.app.services()) if one.type == JobType.ANALYZE_RETRY]
    answer = await analyze.handle(read_job(first))  # decided and committed, but never reported
    assert isinstance(answer, Complete)
    assert await records_of(stage, claim) == [1, 1, 1]

    await stage.clock.advance(LOCK + timedelta(seconds=1))
    async with stage.worker():
        await stage.completes(claim, "Task_AnalyzeRetry")
    [done] = stage.records.of_instance(claim.instance, "JOB", "COMPLETED")
    assert done.key == first.key
    assert stage.records.variables(claim.instance).items() >= answer.variables.items()
    assert await records_of(stage, claim) == [1, 1, 1]
