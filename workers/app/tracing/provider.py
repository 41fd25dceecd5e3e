"""The tracer's provider, and all that is imported for it: only where traces are sent."""

from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from workers.app.telemetry.library_logs import arrived
from workers.app.telemetry.resource import resource
from workers.app.telemetry.troubles import TRACES
from workers.app.tracing.context import wanted_trace_id
from workers.config.telemetry import TelemetrySettings


class SpanExporter(OTLPSpanExporter):
    """Sends to the collector, and says when it has taken something."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send once."""
        result = super().export(spans)
        if result is SpanExportResult.SUCCESS:
            arrived(TRACES)
        return result


class InstanceIds(RandomIdGenerator):
    """Gives a trace that begins the id that is wanted, or else a random one."""

    def generate_trace_id(self) -> int:
        """The id of a trace that begins."""
        return wanted_trace_id() or super().generate_trace_id()

    def is_trace_id_random(self) -> bool:
        """W3C's flag, which a derived id must not bear."""
        return False


def provider_of(settings: TelemetrySettings) -> TracerProvider:
    """Sends to the collector that is set."""
    sampler = ParentBased(TraceIdRatioBased(settings.traces_sampler_arg))
    ours = resource(settings.service_name)
    provider = TracerProvider(sampler, ours, shutdown_on_exit=False, id_generator=InstanceIds())
    provider.add_span_processor(BatchSpanProcessor(SpanExporter(settings.traces_to)))
    return provider
