"""Metrics leave by OTLP where a collector is set; one that is away hurts nobody."""

import asyncio
from time import monotonic

from domain.readings import Reading
from tests.support.metric_collector import collecting_metrics
from tests.support.scraped import free_port
from workers.app.telemetry.gauges import GaugeSource
from workers.app.telemetry.metering import bare_metering
from workers.app.telemetry.metrics import ProcessMetrics, PushTerms
from workers.app.telemetry.resource import resource
from workers.app.telemetry.table import METRICS, SHARES, Kind
from workers.app.tracing.export import opened_tracing
from workers.app.tracing.spans import Traced
from workers.config.settings import Settings
from workers.config.telemetry import TelemetrySettings


async def test_what_was_counted_arrives_with_service_and_version() -> None:
    metrics = ProcessMetrics(resource("reenvio"))
    with collecting_metrics() as collector:
        async with metrics.pushed(PushTerms(collector.endpoint, 3_600)):
            metrics.counters.add("dlq_by_company", ("company-1",), 3)
            metrics.distributions["backoff_duration_minutes"].record(5.5)
        found, sender = collector.latest(), collector.resource()
    [counted] = found["dlq_by_company"].sum.data_points
    assert (counted.as_int, counted.attributes[0].value.string_value) == (3, "company-1")
    assert found["dlq_by_company"].sum.is_monotonic
    [waits] = found["backoff_duration_minutes"].histogram.data_points
    assert (waits.count, waits.sum, found["backoff_duration_minutes"].unit) == (1, 5.5, "min")
    assert sender["service.name"] == "reenvio"
    assert sender["service.version"]


async def test_no_gauge_of_a_count_has_the_unit_to_which_a_collector_appends_ratio() -> None:
    metrics = ProcessMetrics(resource())

    async def read() -> list[Reading]:
        gauges = [one.name for one in METRICS.values() if one.kind is Kind.GAUGE]
        return [Reading(name, 1) for name in (*gauges, "dlq_age_seconds_sum", "dlq_age_seconds_count")]

    metrics.gauges.add(GaugeSource("all", read))
    await metrics.gauges.refresh()
    with collecting_metrics() as collector:
        async with metrics.pushed(PushTerms(collector.endpoint, 3_600)):
            pass
        found = collector.latest()
    assert {name for name, one in found.items() if one.unit == "1"} == SHARES
    assert found["dlq_size"].unit == "{letter}"


async def test_it_is_pushed_again_and_again_while_it_runs() -> None:
    metrics = ProcessMetrics(resource())
    metrics.counters.begin("dlq_entries_total", [()])
    with collecting_metrics() as collector:
        async with metrics.pushed(PushTerms(collector.endpoint, 0.05)), asyncio.timeout(30):
            while len(collector.requests) < 3:
                await asyncio.sleep(0.01)


async def test_a_collector_that_is_away_keeps_nobody_for_long() -> None:
    metrics = ProcessMetrics(resource())
    metrics.counters.begin("dlq_entries_total", [()])
    async with metrics.pushed(PushTerms(f"http://127.0.0.1:{free_port()}", 0.05)):
        await asyncio.sleep(0.1)
        began = monotonic()
    assert monotonic() - began < 60, "it is not waited for until it is back"
    assert b"dlq_entries_total 0.0" in metrics.exposition()


async def test_a_process_waits_six_seconds_at_most_for_a_collector_that_is_away() -> None:
    metrics, away = ProcessMetrics(resource()), f"http://127.0.0.1:{free_port()}"
    metrics.counters.begin("dlq_entries_total", [()])
    async with opened_tracing(TelemetrySettings(exporter_otlp_endpoint=away)) as tracing:
        assert isinstance(tracing, Traced)
        async with metrics.pushed(PushTerms(away, 3_600)):
            tracing.tracer.start_span("job").end()
            began = monotonic()
    assert monotonic() - began < 7.5, "as docs/traces.md says: three for metrics, then three for traces"


async def test_without_an_address_nothing_is_pushed() -> None:
    metering = bare_metering(Settings())
    async with metering.pushed(Settings()):
        assert metering.metrics.exposition()
