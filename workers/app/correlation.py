"""The ids that every line bears which is written while a job runs: claim, process instance, job, trace.

A job only says that it runs; its ids are worked out when a line is written, for most jobs write none.
"""

from collections.abc import Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace

from structlog.typing import EventDict, WrappedLogger

from persistence.encryption.cipher import Cipher
from workers.app.tracing.job_ids import JobIds, ids_of
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job

TraceOf = Callable[[Job, JobIds], str | None]


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that runs, and by what its ids are told."""

    job: Job
    cipher: Cipher
    trace_of: TraceOf

    def ids(self) -> dict[str, object]:
        """What its lines bear."""
        ids = ids_of(self.job, self.cipher)
        told = {"claim": ids.claim, "trace_id": self.trace_of(self.job, ids)}
        known = {name: value for name, value in told.items() if value is not None}
        return known | {"instance": ids.instance, "job": ids.job}


_running: ContextVar[RunningJob | None] = ContextVar("running_job", default=None)


class _Around:
    """The block of one job."""

    __slots__ = ("_running", "_token")

    def __init__(self, running: RunningJob) -> None:
        self._running = running
        self._token: Token[RunningJob | None] | None = None

    def __enter__(self) -> None:
        self._token = _running.set(self._running)

    def __exit__(self, *_error: object) -> None:
        if self._token:
            _running.reset(self._token)


def correlated(handler: JobHandler, cipher: Cipher, trace_of: TraceOf) -> JobHandler:
    """The handler; whatever is logged while it runs, or is reported, names its job."""
    return replace(handler, around=lambda job: _Around(RunningJob(job, cipher, trace_of)))


def naming_its_job(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    """A line with the ids of the job that runs; what the line says itself stays."""
    running = _running.get()
    return {**running.ids(), **line} if running else line
