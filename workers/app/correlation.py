"""The ids that every line bears which is written while a job runs: claim, process instance, job, trace."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from structlog.contextvars import bound_contextvars

from persistence.encryption.cipher import Cipher
from workers.app.tracing.job_ids import JobIds, ids_of
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job

TraceOf = Callable[[Job, JobIds], str | None]


def correlated(handler: JobHandler, cipher: Cipher, trace_of: TraceOf) -> JobHandler:
    """The handler; whatever is logged while it runs, or is reported, names its job."""

    def around(job: Job) -> AbstractContextManager[object]:
        ids = ids_of(job, cipher)
        told = {"claim": ids.claim, "instance": ids.instance, "job": ids.job, "trace_id": trace_of(job, ids)}
        return bound_contextvars(**{name: value for name, value in told.items() if value is not None})

    return replace(handler, around=around)
