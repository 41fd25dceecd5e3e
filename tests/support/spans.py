"""Spans that stay in this process, for tests of what is traced."""

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from workers.app.tracing.provider import InstanceIds
from workers.app.tracing.spans import Traced


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
        """Everything, as text."""
        return "\n".join(span.to_json() for span in self.all())
