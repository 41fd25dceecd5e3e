"""The gateway's calls for jobs, as Zeebe answers them, troubled by the faults that are switched on."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_never

import grpc
from pyzeebe.proto.gateway_pb2 import (
    ActivatedJob,
    ActivateJobsRequest,
    ActivateJobsResponse,
    BrokerInfo,
    CompleteJobRequest,
    CompleteJobResponse,
    FailJobRequest,
    FailJobResponse,
    Partition,
    StreamActivatedJobsRequest,
    ThrowErrorRequest,
    ThrowErrorResponse,
    TopologyRequest,
    TopologyResponse,
    UpdateJobTimeoutRequest,
    UpdateJobTimeoutResponse,
)
from pyzeebe.proto.gateway_pb2_grpc import GatewayServicer

from tests.support.faults.jobs import RejectedError, StoredJob, Terms, activated
from tests.support.faults.kinds import (
    BreakStream,
    CallFault,
    Delay,
    DeliverTwice,
    ExpireEarly,
    Hang,
    LoseAnswer,
    Method,
    Refuse,
    SlowStream,
)
from tests.support.faults.ledger import Ledger
from tests.support.faults.store import JobStore
from tests.support.faults.streams import Bells, Break, Stream, Streams
from tests.support.faults.switches import Faults

DEFAULT_LONG_POLL = 10.0
HEARD_WITHIN_SECONDS = 0.5
"""An answer is on its way for no longer, also on a machine that is busy."""
Context = grpc.aio.ServicerContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Handing:
    """How jobs are on their way to a worker, and where one goes that cannot be handed over."""

    method: Method
    terms: Terms
    back: Callable[[StoredJob], None]


class JobService(GatewayServicer):
    """Serves jobs from a store; keeps a ledger; obeys the switchboard."""

    def __init__(self, rng: random.Random, clock: Callable[[], float]) -> None:
        self.ledger = Ledger()
        self.faults = Faults(rng)
        self.streams = Streams(rng)
        self.store = JobStore(clock, self.ledger, self._announce)
        self._bells = Bells()

    async def ActivateJobs(  # noqa: N802
        self, request: ActivateJobsRequest, context: Context
    ) -> AsyncIterator[ActivateJobsResponse]:
        """Long poll: answers as soon as there is a job, or with nothing when the time is over."""
        faults = await self._enter(Method.ACTIVATE, context)
        terms = _terms(request)
        jobs = await self._wait_for_jobs(request, terms)
        handing = Handing(Method.ACTIVATE, terms, self.store.give_back)
        messages = [message for job in jobs for message in await self._hand_over(job, handing, context)]
        await _leave(faults, context)
        if messages:
            yield ActivateJobsResponse(jobs=messages)

    async def StreamActivatedJobs(  # noqa: N802
        self, request: StreamActivatedJobsRequest, context: Context
    ) -> AsyncIterator[ActivatedJob]:
        """Pushes jobs as they become activatable; those that wait already are left to polls."""
        await _leave(await self._enter(Method.STREAM, context), context)
        stream = self.streams.open(request.type, _terms(request))
        try:
            while True:
                for message in await self._next_push(stream, context):
                    yield message
        finally:
            self.streams.close(stream)  # first: what is given back must not come here again
            for job in stream.left_behind():
                self.store.give_back(job)

    async def CompleteJob(self, request: CompleteJobRequest, context: Context) -> CompleteJobResponse:  # noqa: N802
        """The work is done."""
        await self._report(
            Method.COMPLETE, context, request.variables, lambda: self.store.complete(request.jobKey)
        )
        return CompleteJobResponse()

    async def FailJob(self, request: FailJobRequest, context: Context) -> FailJobResponse:  # noqa: N802
        """A failure, with the retries that the worker says are left."""

        def fail() -> None:
            backoff = timedelta(milliseconds=request.retryBackOff)
            self.store.fail(
                request.jobKey, retries=request.retries, backoff=backoff, message=request.errorMessage
            )

        await self._report(Method.FAIL, context, request.errorMessage, fail)
        return FailJobResponse()

    async def ThrowError(self, request: ThrowErrorRequest, context: Context) -> ThrowErrorResponse:  # noqa: N802
        """A business error."""
        await self._report(
            Method.THROW,
            context,
            request.variables,
            lambda: self.store.throw(request.jobKey, request.errorCode),
        )
        return ThrowErrorResponse()

    async def UpdateJobTimeout(  # noqa: N802
        self, request: UpdateJobTimeoutRequest, context: Context
    ) -> UpdateJobTimeoutResponse:
        """A new lock from now."""
        lock = timedelta(milliseconds=request.timeout)
        await self._do(Method.EXTEND, context, lambda: self.store.extend(request.jobKey, lock))
        return UpdateJobTimeoutResponse()

    async def Topology(self, request: TopologyRequest, context: Context) -> TopologyResponse:  # noqa: N802, ARG002
        """One healthy broker with one partition."""
        await self._do(Method.TOPOLOGY, context, lambda: None)
        leader = Partition(partitionId=1, role=Partition.LEADER, health=Partition.HEALTHY)
        return TopologyResponse(
            brokers=[BrokerInfo(host="127.0.0.1", partitions=[leader])],
            clusterSize=1,
            partitionsCount=1,
            replicationFactor=1,
            gatewayVersion="8.6.0",
        )

    def _announce(self, job: StoredJob) -> None:
        if (stream := self.streams.choose(job.type)) is None:
            self._bells.ring(job.type)
        else:
            self.store.activate(job, stream.terms)
            stream.queue.put_nowait(job)

    async def _wait_for_jobs(self, request: ActivateJobsRequest, terms: Terms) -> list[StoredJob]:
        loop = asyncio.get_running_loop()
        seconds = request.requestTimeout / 1000 or DEFAULT_LONG_POLL
        until = loop.time() + seconds
        while not (jobs := self.store.take(request.type, request.maxJobsToActivate, terms)):
            if (left := until - loop.time()) <= 0:
                return []
            await self._bells.wait(request.type, left)
        return jobs

    async def _next_push(self, stream: Stream, context: Context) -> list[ActivatedJob]:
        item = await stream.queue.get()
        if isinstance(item, Break):
            await context.abort(item.status, "the stream was told to break")
        handing = Handing(Method.STREAM, stream.terms, stream.queue.put_nowait)
        return await self._hand_over(item, handing, context)

    async def _hand_over(self, job: StoredJob, handing: Handing, context: Context) -> list[ActivatedJob]:
        deadline = time.time() + handing.terms.lock.total_seconds()
        messages = [activated(job, handing.terms, deadline=deadline)]
        for fault in self.faults.on_delivery(handing.method):
            match fault:
                case DeliverTwice():
                    messages *= 2
                case ExpireEarly(seconds):
                    self.store.expire(job, timedelta(seconds=seconds))
                case SlowStream(seconds):
                    await asyncio.sleep(seconds)
                case BreakStream(status):
                    handing.back(job)
                    await context.abort(status, "the delivery was told to break")
                case _:
                    assert_never(fault)
        return messages

    async def _report(self, method: Method, context: Context, text: str, act: Callable[[], None]) -> None:
        mark = self.ledger.runs.arrived(method, text)
        await self._do(method, context, act, answered=lambda: self.ledger.runs.answered(mark))

    async def _do(
        self,
        method: Method,
        context: Context,
        act: Callable[[], None],
        *,
        answered: Callable[[], None] = lambda: None,
    ) -> None:
        faults = await self._enter(method, context)
        rejected: RejectedError | None = None
        try:
            act()
        except RejectedError as rejection:
            rejected = rejection
        await _leave(faults, context)
        if _is_surely_heard(context):
            answered()
        if rejected is not None:
            await context.abort(rejected.status, str(rejected))

    async def _enter(self, method: Method, context: Context) -> tuple[CallFault, ...]:
        faults = self.faults.on_call(method)
        for fault in faults:
            match fault:
                case Delay(seconds):
                    await asyncio.sleep(seconds)
                case Hang():
                    await asyncio.Event().wait()
                case Refuse(status, details):
                    await context.abort(status, details)
                case LoseAnswer():
                    pass
                case _:
                    assert_never(fault)
        return faults


def _is_surely_heard(context: Context) -> bool:
    """Whether its caller waits for long enough: who has stopped waiting when the answer comes asks again."""
    left: Any = context.time_remaining()  # None where it waits for ever, whatever its type says
    return left is None or left > HEARD_WITHIN_SECONDS


async def _leave(faults: tuple[CallFault, ...], context: Context) -> None:
    for fault in faults:
        if isinstance(fault, LoseAnswer):
            await context.abort(fault.status, "the answer was told to get lost")


def _terms(request: ActivateJobsRequest | StreamActivatedJobsRequest) -> Terms:
    lock = timedelta(milliseconds=request.timeout)
    return Terms(request.worker, lock, frozenset(request.fetchVariable))
