"""The metrics of one process: counted here, shown on /metrics, pushed by OTLP where that is wanted."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from threading import Lock

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from workers.app.telemetry.counters import Counters
from workers.app.telemetry.gauges import Gauges
from workers.app.telemetry.instruments import Distribution, create_instruments
from workers.app.telemetry.spelling import Spelled
from workers.app.telemetry.starting import settings_blamed

SCOPE = "reenvio"
STOP_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class PushTerms:
    """Where metrics are pushed to, and how often."""

    endpoint: str
    seconds: float


class ProcessMetrics:
    """Counters, gauges and distributions under the table's names."""

    def __init__(self, resource: Resource) -> None:
        self.counters = Counters()
        self.gauges = Gauges()
        self._collecting = Lock()  # the exporter hands a scrape over in a queue that all of them share
        self._registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        reader = PrometheusMetricReader(scope_info_enabled=False, registry=self._registry)
        self._provider = MeterProvider(metric_readers=[reader], resource=resource, shutdown_on_exit=False)
        meter = self._provider.get_meter(SCOPE)
        self.distributions: Mapping[str, Distribution] = create_instruments(meter, self.counters, self.gauges)

    def exposition(self) -> bytes:
        """All of them in Prometheus' text format."""
        with self._collecting:
            return generate_latest(Spelled(self._registry, self.distributions))

    @asynccontextmanager
    async def pushed(self, terms: PushTerms | None) -> AsyncIterator[None]:
        """Push while the block runs, and once more when it ends; a collector that is away hurts nobody."""
        if terms is None:
            yield
            return
        with settings_blamed():
            reader = _reader(terms)
        self._provider.add_metric_reader(reader)
        try:
            yield
        finally:
            await asyncio.to_thread(reader.shutdown, STOP_SECONDS * 1000)


def _reader(terms: PushTerms) -> PeriodicExportingMetricReader:
    # half of all that is imported for metrics, and most processes never need it
    from workers.app.telemetry.metric_export import MetricExporter

    exporter = MetricExporter(endpoint=terms.endpoint)
    return PeriodicExportingMetricReader(exporter, export_interval_millis=terms.seconds * 1000)
