"""Turns outcomes into engine verbs: the only module that completes, fails or throws."""

import json
from datetime import timedelta
from typing import Any, assert_never

import grpc
import structlog
from pyzeebe.proto.gateway_pb2 import CompleteJobRequest, FailJobRequest, ThrowErrorRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Fail, Incident, Outcome, Throw

MESSAGE_LIMIT = 2_000
log = structlog.get_logger(__name__)


class Reporter:
    """Reports to the gateway; the channel retries refusals, what is final is logged."""

    def __init__(self, stub: GatewayStub, *, timeout: timedelta = timedelta(seconds=10)) -> None:
        self._stub: Any = stub  # the stubs are typed for the blocking channel only
        self._timeout = timeout.total_seconds()

    async def report(self, job: Job, outcome: Outcome) -> None:
        """Tell the engine what became of a job; a job that is gone was settled before."""
        try:
            await self._send(job, outcome)
        except grpc.aio.AioRpcError as error:
            already_settled = error.code() is grpc.StatusCode.NOT_FOUND
            event = "job_already_settled" if already_settled else "job_report_failed"
            log.warning(event, job=job.key, type=job.type, status=error.code().name)
        else:
            log.debug("job_reported", job=job.key, type=job.type, outcome=type(outcome).__name__)

    async def _send(self, job: Job, outcome: Outcome) -> None:
        match outcome:
            case Complete(variables):
                request = CompleteJobRequest(jobKey=job.key, variables=json.dumps(variables))
                await self._stub.CompleteJob(request, timeout=self._timeout)
            case Throw(code, message, variables):
                thrown = ThrowErrorRequest(
                    jobKey=job.key,
                    errorCode=code,
                    errorMessage=message[:MESSAGE_LIMIT],
                    variables=json.dumps(variables),
                )
                await self._stub.ThrowError(thrown, timeout=self._timeout)
            case Fail(message, backoff):
                await self._fail(job, message, retries=job.retries - 1, backoff=backoff)
            case Incident(message):
                await self._fail(job, message, retries=0, backoff=timedelta())
            case _:
                assert_never(outcome)

    async def _fail(self, job: Job, message: str, *, retries: int, backoff: timedelta) -> None:
        request = FailJobRequest(
            jobKey=job.key,
            retries=max(retries, 0),
            errorMessage=message[:MESSAGE_LIMIT],
            retryBackOff=round(backoff.total_seconds() * 1000),
        )
        await self._stub.FailJob(request, timeout=self._timeout)
