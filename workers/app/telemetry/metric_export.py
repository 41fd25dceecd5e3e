"""The exporter of metrics, and all that is imported for it: only where metrics are pushed."""

from typing import Any

from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData

from workers.app.telemetry.library_logs import arrived
from workers.app.telemetry.troubles import METRICS


class MetricExporter(OTLPMetricExporter):
    """Pushes to the collector, and says when it has taken something."""

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        """Push once."""
        result = super().export(metrics_data, timeout_millis, **kwargs)
        if result is MetricExportResult.SUCCESS:
            arrived(METRICS)
        return result
