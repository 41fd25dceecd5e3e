"""A collector of metrics: a real server of OTLP's metrics service, on a port of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc import (
    MetricsServiceServicer,
    add_MetricsServiceServicer_to_server,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from tests.support.collector import served


@dataclass
class MetricCollector(MetricsServiceServicer):
    """Keeps what it is sent."""

    requests: list[ExportMetricsServiceRequest] = field(default_factory=list)
    endpoint: str = ""

    def Export(  # noqa: N802  # the name is OTLP's
        self, request: ExportMetricsServiceRequest, _context: grpc.ServicerContext
    ) -> ExportMetricsServiceResponse:
        """Take a batch."""
        self.requests.append(request)
        return ExportMetricsServiceResponse()

    def latest(self) -> dict[str, Metric]:
        """The metrics of the last batch, by name."""
        groups = self.requests[-1].resource_metrics
        return {one.name: one for group in groups for scope in group.scope_metrics for one in scope.metrics}

    def resource(self) -> dict[str, str]:
        """Who sent the last batch."""
        [group] = self.requests[-1].resource_metrics
        return {pair.key: pair.value.string_value for pair in group.resource.attributes}


@contextmanager
def collecting_metrics() -> Iterator[MetricCollector]:
    """A collector that runs for as long as the block."""
    collector = MetricCollector()
    with served(lambda server: add_MetricsServiceServicer_to_server(collector, server)) as endpoint:  # type: ignore[no-untyped-call]
        collector.endpoint = endpoint
        yield collector
