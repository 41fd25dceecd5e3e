"""Where traces go: to a collector that takes OTLP over gRPC, if one is set."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Thread

import structlog
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from workers.app.telemetry.resource import resource
from workers.app.tracing.context import InstanceIds
from workers.app.tracing.spans import Traced, Untraced
from workers.config.telemetry import TelemetrySettings

CLOSING_SECONDS = 3.0
SAID_AT_MOST = 300
log = structlog.get_logger(__name__)


@asynccontextmanager
async def opened_tracing(settings: TelemetrySettings) -> AsyncIterator[Untraced]:
    """Traces to the collector that is set; without one there is no tracer."""
    if (endpoint := settings.traces_to) is None:
        yield Untraced()
        return
    provider = _provider(settings, endpoint)
    tell_of_trouble()
    try:
        yield Traced(provider.get_tracer("reenvio"))
    finally:
        await _ended(Thread(target=provider.shutdown, daemon=True))


def _provider(settings: TelemetrySettings, endpoint: str) -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # heavy, seldom used

    sampler = ParentBased(TraceIdRatioBased(settings.traces_sampler_arg))
    ours = resource(settings.service_name)
    provider = TracerProvider(sampler, ours, shutdown_on_exit=False, id_generator=InstanceIds())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint)))
    return provider


def tell_of_trouble() -> None:
    """What OpenTelemetry complains of is a line of our log, as everything else is."""
    logger = logging.getLogger("opentelemetry")
    if not any(isinstance(handler, TelemetryTrouble) for handler in logger.handlers):
        logger.addHandler(TelemetryTrouble(logging.WARNING))
        logger.propagate = False


class TelemetryTrouble(logging.Handler):
    """Writes the complaints of OpenTelemetry, which speak of addresses and status codes."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        log.warning("telemetry_trouble", part=record.name, why=record.getMessage()[:SAID_AT_MOST])


async def _ended(thread: Thread) -> None:
    """Run it to its end, but wait for no collector that is away."""
    thread.start()
    await asyncio.to_thread(thread.join, CLOSING_SECONDS)
