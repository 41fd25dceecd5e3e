"""A trouble of the telemetry is told once, then ever more rarely, and once when it is over."""

import logging
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from opentelemetry.sdk.resources import Resource
from structlog.testing import capture_logs

from tests.support.metric_collector import collecting_metrics
from workers.app.telemetry.library_logs import LibraryLines, arrived
from workers.app.telemetry.metrics import ProcessMetrics, PushTerms

EXPORTER = logging.getLogger("opentelemetry.exporter")
"""Not the module's own, which leaves out what it has said within the minute."""
AWAY, REFUSED = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED
MINUTE = 60.0


class Listening:
    """Our lines, at a time that the test sets."""

    def __init__(self, lines: list[Any]) -> None:
        self.now = 0.0
        self.lines = lines
        self.handler = LibraryLines(logging.WARNING, lambda: self.now)

    def fail(self, signal: str = "traces", status: grpc.StatusCode = AWAY, *, for_good: bool = False) -> None:
        """As OpenTelemetry's exporter tells of one try: that it comes again, or gives up."""
        if for_good:
            EXPORTER.error("Failed to export %s to %s, error code: %s", signal, "http://x", status)
        else:
            EXPORTER.warning("Transient error %s encountered while exporting %s", status, signal)

    def told(self) -> list[tuple[str, str | None, int]]:
        return [(line["event"], line["signal"], line["times"]) for line in self.lines]


@pytest.fixture
def listening() -> Iterator[Listening]:
    root = logging.getLogger()
    others = [one for one in root.handlers if isinstance(one, LibraryLines)]
    with capture_logs() as lines:
        listening = Listening(lines)
        for other in others:
            root.removeHandler(other)
        root.addHandler(listening.handler)
        yield listening
        root.removeHandler(listening.handler)
        for other in others:
            root.addHandler(other)


def test_the_same_trouble_is_told_once_and_then_after_pauses_that_grow(listening: Listening) -> None:
    for minute in range(24 * 60):
        listening.now = minute * MINUTE
        listening.fail(for_good=minute % 5 == 0)
    assert listening.told()[:4] == [("telemetry_trouble", "traces", times) for times in (1, 10, 20, 40)]
    assert len(listening.lines) == 9


def test_another_signal_or_status_is_another_trouble(listening: Listening) -> None:
    for _ in range(3):
        listening.fail("traces")
        listening.fail("metrics")
        listening.fail("metrics", REFUSED)
    assert [(line["signal"], line["status"]) for line in listening.lines] == [
        ("traces", "UNAVAILABLE"),
        ("metrics", "UNAVAILABLE"),
        ("metrics", "UNAUTHENTICATED"),
    ]


def test_that_it_is_over_is_told_once_and_the_next_trouble_at_once(listening: Listening) -> None:
    for _ in range(3):
        listening.fail("traces")
    arrived("metrics")
    for _ in range(2):
        arrived("traces")
    listening.fail("traces")
    assert listening.told() == [
        ("telemetry_trouble", "traces", 1),
        ("telemetry_recovered", "traces", 3),
        ("telemetry_trouble", "traces", 1),
    ]


def test_what_always_arrives_is_not_told_of(listening: Listening) -> None:
    arrived("traces")
    assert listening.lines == []


async def test_metrics_that_arrive_end_the_trouble_that_they_had(listening: Listening) -> None:
    listening.fail("metrics")
    metrics = ProcessMetrics(Resource.create())
    metrics.counters.add("dlq_entries_total")
    with collecting_metrics() as collector:
        async with metrics.pushed(PushTerms(collector.endpoint, 3_600)):
            pass
    assert listening.told()[-1] == ("telemetry_recovered", "metrics", 1)
