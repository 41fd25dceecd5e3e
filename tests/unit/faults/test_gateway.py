"""The faulty gateway answers as Zeebe does, until it is told otherwise."""

import asyncio
import json
from typing import Any

import grpc
import pytest
from pyzeebe.proto.gateway_pb2 import (
    ActivatedJob,
    ActivateJobsRequest,
    CompleteJobRequest,
    FailJobRequest,
    StreamActivatedJobsRequest,
    ThrowErrorRequest,
    TopologyRequest,
    UpdateJobTimeoutRequest,
)

from tests.support.faults import (
    BreakStream,
    Delay,
    DeliverTwice,
    End,
    ExpireEarly,
    Fault,
    FaultyGateway,
    Hang,
    LoseAnswer,
    Refuse,
    Rule,
)

PUSHED = StreamActivatedJobsRequest(type="a", worker="w", timeout=10_000)


async def poll(
    stub: Any, *, limit: int = 10, wait: int = -1, fetch: tuple[str, ...] = ()
) -> list[ActivatedJob]:
    request = ActivateJobsRequest(
        type="a",
        worker="w",
        timeout=10_000,
        maxJobsToActivate=limit,
        requestTimeout=wait,
        fetchVariable=fetch,
    )
    return [job async for answer in stub.ActivateJobs(request) for job in answer.jobs]


async def status_of(call: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call
    return refused.value.code()


async def opened(gateway: FaultyGateway) -> None:
    async with asyncio.timeout(5):
        while not gateway.open_streams("a"):
            await asyncio.sleep(0.01)


async def test_a_poll_gets_no_more_jobs_and_variables_than_it_asked_for(
    gateway: FaultyGateway, stub: Any
) -> None:
    for _ in range(3):
        gateway.store.create("a", {"wanted": 1, "unwanted": 2})
    jobs = await poll(stub, limit=2, fetch=("wanted",))
    assert [json.loads(job.variables) for job in jobs] == [{"wanted": 1}] * 2


async def test_a_long_poll_waits_for_a_job_and_ends_without_one(gateway: FaultyGateway, stub: Any) -> None:
    assert await poll(stub, wait=50) == []
    waiting = asyncio.create_task(poll(stub, wait=10_000))
    await asyncio.sleep(0)
    key = gateway.store.create("a", {})
    assert [job.key for job in await waiting] == [key]


async def test_a_stream_gets_new_jobs_and_leaves_the_backlog_to_polls(
    gateway: FaultyGateway, stub: Any
) -> None:
    old = gateway.store.create("a", {})
    stream = stub.StreamActivatedJobs(PUSHED)
    reading = asyncio.create_task(stream.read())
    await opened(gateway)
    new = gateway.store.create("a", {})
    assert (await reading).key == new
    assert [job.key for job in await poll(stub)] == [old]
    stream.cancel()


async def test_reports_settle_jobs_and_settled_jobs_are_not_found(gateway: FaultyGateway, stub: Any) -> None:
    done, thrown, failed = (gateway.store.create("a", {}) for _ in range(3))
    await poll(stub)
    await stub.CompleteJob(CompleteJobRequest(jobKey=done))
    await stub.ThrowError(ThrowErrorRequest(jobKey=thrown, errorCode="CODE"))
    await stub.FailJob(FailJobRequest(jobKey=failed, retries=0, errorMessage="why"))
    ends = [gateway.ledger.stories[key].end for key in (done, thrown, failed)]
    assert ends == [End.COMPLETED, End.THROWN, End.INCIDENT]
    assert await status_of(stub.CompleteJob(CompleteJobRequest(jobKey=done))) is grpc.StatusCode.NOT_FOUND


async def test_locks_are_extended_and_the_topology_is_told(gateway: FaultyGateway, stub: Any) -> None:
    key = gateway.store.create("a", {})
    await poll(stub)
    await stub.UpdateJobTimeout(UpdateJobTimeoutRequest(jobKey=key, timeout=1_000))
    assert (await stub.Topology(TopologyRequest())).partitionsCount == 1


async def test_a_refused_call_does_nothing(gateway: FaultyGateway, stub: Any) -> None:
    key = gateway.store.create("a", {})
    gateway.faults.switch(Rule(Refuse(grpc.StatusCode.PERMISSION_DENIED)))
    assert (
        await status_of(stub.CompleteJob(CompleteJobRequest(jobKey=key))) is grpc.StatusCode.PERMISSION_DENIED
    )
    assert gateway.ledger.ended == 0


async def test_a_lost_answer_does_the_work_all_the_same(gateway: FaultyGateway, stub: Any) -> None:
    key = gateway.store.create("a", {})
    gateway.faults.switch(Rule(LoseAnswer(grpc.StatusCode.INTERNAL)))
    assert await status_of(stub.CompleteJob(CompleteJobRequest(jobKey=key))) is grpc.StatusCode.INTERNAL
    assert gateway.ledger.ended == 1


@pytest.mark.parametrize("fault", [Hang(), Delay(60)])
async def test_a_call_without_an_answer_ends_by_its_callers_deadline(
    gateway: FaultyGateway, stub: Any, fault: Fault
) -> None:
    gateway.faults.switch(Rule(fault))
    late = await status_of(stub.Topology(TopologyRequest(), timeout=0.1))
    assert late is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_a_job_can_be_delivered_twice(gateway: FaultyGateway, stub: Any) -> None:
    key = gateway.store.create("a", {})
    gateway.faults.switch(Rule(DeliverTwice()))
    assert [job.key for job in await poll(stub)] == [key, key]


async def test_a_lock_can_end_early(gateway: FaultyGateway, stub: Any) -> None:
    key = gateway.store.create("a", {})
    gateway.faults.switch(Rule(ExpireEarly()))
    assert [job.key for job in [*await poll(stub), *await poll(stub, wait=5_000)]] == [key, key]


async def test_a_broken_stream_ends_with_its_status_and_the_job_goes_back(
    gateway: FaultyGateway, stub: Any
) -> None:
    gateway.faults.switch(Rule(BreakStream(grpc.StatusCode.ABORTED)))
    stream = stub.StreamActivatedJobs(PUSHED)
    reading = asyncio.create_task(stream.read())
    await opened(gateway)
    gateway.store.create("a", {})
    assert await status_of(reading) is grpc.StatusCode.ABORTED
    gateway.faults.switch()
    assert len(await poll(stub, wait=5_000)) == 1


async def test_all_streams_can_be_broken_at_once(gateway: FaultyGateway, stub: Any) -> None:
    reading = asyncio.create_task(stub.StreamActivatedJobs(PUSHED).read())
    await opened(gateway)
    gateway.break_streams(grpc.StatusCode.INTERNAL)
    assert await status_of(reading) is grpc.StatusCode.INTERNAL


async def test_a_gateway_that_was_killed_comes_back_on_its_port_with_its_jobs(
    gateway: FaultyGateway, stub: Any
) -> None:
    gateway.store.create("a", {})
    address = gateway.address
    await gateway.kill()
    assert await status_of(stub.Topology(TopologyRequest())) is grpc.StatusCode.UNAVAILABLE
    await gateway.start()
    assert gateway.address == address
    await stub.Topology(TopologyRequest(), wait_for_ready=True, timeout=5)
    assert len(await poll(stub)) == 1
