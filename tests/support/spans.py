"""Spans that stay in this process, for tests of what is traced."""

import re

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from workers.app.tracing.provider import InstanceIds
from workers.app.tracing.spans import Traced

IDS_AND_MOMENTS = re.compile(r"0x[0-9a-f]{16,32}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")


class KeptSpans:
    """A tracing whose spans are kept, in the order of their ends."""

    def __init__(self, ratio: float = 1.0) -> None:
        self._kept = InMemorySpanExporter()
        sampler = ParentBased(TraceIdRatioBased(ratio))
        provider = TracerProvider(sampler, shutdown_on_exit=False, id_generator=InstanceIds())
        provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.tracing = Traced(provider.get_tracer("test"))

    def all(self) -> tuple[ReadableSpan, ...]:
        """What has ended so far."""
        return self._kept.get_finished_spans()

    def text(self) -> str:
        """Everything but ids and moments, whose digits are anybody's, as text."""
        return "\n".join(IDS_AND_MOMENTS.sub("", span.to_json()) for span in self.all())
