"""Turns outcomes into engine verbs, again and again until the job is no longer ours."""

import asyncio
import json
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any, assert_never

import grpc
from google.protobuf.message import Message
from pyzeebe.proto.gateway_pb2 import CompleteJobRequest, FailJobRequest, ThrowErrorRequest

from workers.runtime import cancellation
from workers.runtime.events import JobDone, ReportGivenUp, ReportRetried
from workers.runtime.gateway import Gateway
from workers.runtime.job import Job
from workers.runtime.options import WorkerOptions
from workers.runtime.outcome import Complete, Fail, HandBack, Incident, Postpone, Report, Throw
from workers.runtime.throttle import Throttle

MESSAGE_LIMIT = 2_000
NO_BACKOFF = timedelta()
_SHORTEST_TRY = 1.0
_FINAL = frozenset(
    {
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)


class Reporter:
    """The only one that completes, fails or throws; each execution is reported once."""

    def __init__(self, gateway: Gateway, options: WorkerOptions) -> None:
        self._gateway = gateway
        self._options = options
        self._timings = options.timings
        self._emit = options.listener
        self.throttle = Throttle(least=self._timings.fewest_reports, most=self._timings.most_reports)

    async def report(self, job: Job, outcome: Report, *, until: float, seconds: float = 0.0) -> None:
        """Report to the engine; `until` is the (monotonic) end of our lock on the job."""
        name, method, request = _verb(job, outcome)
        done, retried = JobDone(job.type, job.key, name, seconds), False
        backoff = self._options.backoff(self._timings.longest_report_pause)
        while (status := await self._try(method, request, until=until)) is not None:
            pause = backoff.pause()
            if status in _FINAL or time.monotonic() + pause >= until:
                self._emit(_conclusion(done, status, retried=retried))
                return
            retried = True
            self._emit(ReportRetried(job.type, job.key, status.name, pause))
            await self._prepare_retry(status, pause)
        self._emit(done)

    async def _try(self, method: str, request: Message, *, until: float) -> grpc.StatusCode | None:
        async with self.throttle:
            begun = time.monotonic()
            seconds = min(self._timings.report_try, max(until - begun, _SHORTEST_TRY))
            try:
                await self._gateway.call(method, request, seconds)
            except grpc.aio.AioRpcError as error:
                return error.code()
            except asyncio.CancelledError:
                if cancellation.is_ours():
                    raise
                return grpc.StatusCode.CANCELLED
            self.throttle.went_well(time.monotonic() - begun)
        return None

    async def _prepare_retry(self, status: grpc.StatusCode, pause: float) -> None:
        if status is grpc.StatusCode.UNAUTHENTICATED:
            await self._gateway.renew()
        await asyncio.sleep(pause)


def _conclusion(done: JobDone, status: grpc.StatusCode, *, retried: bool) -> JobDone | ReportGivenUp:
    """What a last refusal means: the engine had the report already, or never gets it."""
    # a job that we failed or threw at a try whose answer got lost is still there, but no longer active
    inactive = retried and status is grpc.StatusCode.FAILED_PRECONDITION
    if inactive or status is grpc.StatusCode.NOT_FOUND:
        return replace(done, settled_before=True)
    return ReportGivenUp(done.type, done.key, status.name)


def _verb(job: Job, outcome: Report) -> tuple[str, str, Message]:
    """The outcome's name, the gateway's method and the request for it."""
    try:
        return _request(job, outcome)
    except (TypeError, ValueError, RecursionError) as error:
        incident = Incident(
            f"{job.type} answered with variables that are not JSON ({type(error).__name__}: {_kind(error)}). "
            "This is a fault of the worker: mend it, then retry this incident in Operate."
        )
        return _request(job, incident)


def _request(job: Job, outcome: Report) -> tuple[str, str, Message]:
    match outcome:
        case Complete(variables):
            request = CompleteJobRequest(jobKey=job.key, variables=_json(variables))
            return "complete", "CompleteJob", request
        case Throw(code, message, variables):
            thrown = ThrowErrorRequest(
                jobKey=job.key, errorCode=code, errorMessage=_bounded(message), variables=_json(variables)
            )
            return "throw", "ThrowError", thrown
        case Fail(message, backoff) if job.retries > 1:
            return "fail", "FailJob", _failed(job, message, retries=job.retries - 1, backoff=backoff)
        case Fail(message) | Incident(message):
            return "incident", "FailJob", _failed(job, message, retries=0)
        case Postpone(message, backoff):
            return "postpone", "FailJob", _failed(job, message, retries=max(job.retries, 1), backoff=backoff)
        case HandBack(reason):
            return "hand-back", "FailJob", _failed(job, reason, retries=max(job.retries, 1))
        case _:
            assert_never(outcome)


def _failed(job: Job, message: str, *, retries: int, backoff: timedelta = NO_BACKOFF) -> FailJobRequest:
    return FailJobRequest(
        jobKey=job.key,
        retries=retries,
        errorMessage=_bounded(message),
        retryBackOff=round(backoff.total_seconds() * 1000),
    )


def _json(variables: dict[str, Any]) -> str:
    return json.dumps(variables, allow_nan=False)


def _bounded(message: str) -> str:
    return message[:MESSAGE_LIMIT]


def _kind(error: Exception) -> str:
    """What json says about types; its words name the type, not the value."""
    text = str(error)
    return text if text.startswith("Object of type") else "not a JSON value"
