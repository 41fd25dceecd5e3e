"""A collector of traces: a real server of OTLP's trace service, on a port of its own."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span


@dataclass(frozen=True, slots=True)
class SeenSpan:
    """A span as it arrived; ids are in hexadecimal, as W3C writes them."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, str | int]
    links: tuple[str, ...]
    seconds: float


@dataclass
class Collector(TraceServiceServicer):
    """Keeps what it is sent."""

    requests: list[ExportTraceServiceRequest] = field(default_factory=list)
    endpoint: str = ""

    def Export(  # noqa: N802  # the name is OTLP's
        self, request: ExportTraceServiceRequest, _context: grpc.ServicerContext
    ) -> ExportTraceServiceResponse:
        """Take a batch."""
        self.requests.append(request)
        return ExportTraceServiceResponse()

    def spans(self) -> list[SeenSpan]:
        """All that came, by the time at which they began."""
        found = [span for group in self._groups() for scope in group.scope_spans for span in scope.spans]
        return [_seen(span) for span in sorted(found, key=lambda span: span.start_time_unix_nano)]

    def resource(self) -> dict[str, str | int]:
        """Who sent the last batch."""
        [*_, last] = self._groups()
        return _plain(last.resource.attributes)

    def text(self) -> str:
        """Everything, as text."""
        return "\n".join(map(str, self.requests))

    def _groups(self) -> list[ResourceSpans]:
        return [group for request in list(self.requests) for group in request.resource_spans]


def _plain(pairs: Iterable[KeyValue]) -> dict[str, str | int]:
    return {pair.key: pair.value.string_value or pair.value.int_value for pair in pairs}


def _seen(span: Span) -> SeenSpan:
    links = tuple(link.trace_id.hex() for link in span.links)
    seconds = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9
    ids = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
    return SeenSpan(span.name, *ids, _plain(span.attributes), links, seconds)


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that runs for as long as the block."""
    collector = Collector()
    with served(lambda server: add_TraceServiceServicer_to_server(collector, server)) as endpoint:  # type: ignore[no-untyped-call]
        collector.endpoint = endpoint
        yield collector


@contextmanager
def served(add_to: Callable[[grpc.Server], None]) -> Iterator[str]:
    """A service of OTLP on a port of its own; its address."""
    server = grpc.server(ThreadPoolExecutor(2))
    add_to(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop(grace=None).wait()
