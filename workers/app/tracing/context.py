"""The trace of a process instance: as its variables carry it, or else as its keys give it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b

from opentelemetry.trace import (
    Span,
    SpanContext,
    TraceFlags,
    format_span_id,
    format_trace_id,
)

from bpmn.names import Variable
from workers.app.tracing.job_ids import JobIds
from workers.runtime.job import Job

_FORM = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})", re.ASCII)
_ID_BYTES = 16
_wanted: ContextVar[int] = ContextVar("wanted_trace_id", default=0)


def carried(job: Job) -> SpanContext | None:
    """The W3C trace context in the job's variables; what has not its form is not one."""
    given = job.variables.get(Variable.TRACEPARENT)
    found = _FORM.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        return None
    trace_id, span_id, flags = (int(part, 16) for part in found.groups())
    context = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags))
    return context if context.is_valid else None


def derived(ids: JobIds) -> int:
    """The trace id of an instance that carries none: the same for all its jobs, in every worker."""
    digest = blake2b(f"{ids.instance}\n{ids.claim}".encode(), digest_size=_ID_BYTES).digest()
    return int.from_bytes(digest) or 1


def trace_id_of(job: Job, ids: JobIds) -> str:
    """The trace that the job belongs to."""
    context = carried(job)
    return format_trace_id(context.trace_id if context else derived(ids))


def written(span: Span) -> str:
    """The span's context in the form of W3C."""
    context = span.get_span_context()
    return (
        f"00-{format_trace_id(context.trace_id)}-{format_span_id(context.span_id)}-{context.trace_flags:02x}"
    )


def wanted_trace_id() -> int:
    """The id that a trace which begins now shall have; 0 where any will do."""
    return _wanted.get()


@contextmanager
def wanting(trace_id: int) -> Iterator[None]:
    """A trace that begins in this block gets this id."""
    token = _wanted.set(trace_id)
    try:
        yield
    finally:
        _wanted.reset(token)
