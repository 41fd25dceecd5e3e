"""Where traces go: to a collector that takes OTLP over gRPC, if one is set."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Thread

from workers.app.telemetry.library_logs import hear_libraries
from workers.app.telemetry.starting import settings_blamed
from workers.app.tracing.spans import Traced, Untraced
from workers.config.telemetry import TelemetrySettings

CLOSING_SECONDS = 3.0


@asynccontextmanager
async def opened_tracing(settings: TelemetrySettings) -> AsyncIterator[Untraced]:
    """Traces to the collector that is set; without one there is no tracer."""
    if settings.traces_to is None:
        yield Untraced()
        return
    hear_libraries()
    with settings_blamed():
        from workers.app.tracing.provider import provider_of  # heavy, seldom used; reads OTEL_ variables

        provider = provider_of(settings)
    try:
        yield Traced(provider.get_tracer("reenvio"))
    finally:
        await _ended(Thread(target=provider.shutdown, daemon=True))


async def _ended(thread: Thread) -> None:
    """Run it to its end, but wait for no collector that is away."""
    thread.start()
    await asyncio.to_thread(thread.join, CLOSING_SECONDS)
