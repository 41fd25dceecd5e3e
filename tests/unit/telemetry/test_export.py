"""Traces leave for the collector that is set, or nothing is prepared for them."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from persistence.encryption.keys import cipher_of, new_key
from tests.support.collector import collecting
from workers.app.tracing.export import opened_tracing
from workers.app.tracing.spans import Traced, Untraced
from workers.config.settings import SettingsError, read_settings
from workers.config.telemetry import TelemetrySettings
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome

CIPHER = cipher_of(new_key("k1"))
PATIENCE_SECONDS = 60
NOBODY = "http://127.0.0.1:1"


async def work(tracing: Untraced, jobs: int = 1) -> None:
    async def handle(_job: Job) -> Outcome:
        return Complete()

    handler = tracing.handler(JobHandler("submit-claim", (), handle), CIPHER)
    for key in range(jobs):
        assert isinstance(await handler.handle(Job(key, "submit-claim", "Task", key, 3, {}, {})), Complete)


async def test_what_has_ended_has_arrived_when_the_process_ends() -> None:
    with collecting() as collector:
        settings = TelemetrySettings(exporter_otlp_endpoint=collector.endpoint, service_name="reenvio-test")
        async with opened_tracing(settings) as tracing:
            await work(tracing, 7)
    assert len(collector.spans()) == 7
    assert collector.resource()["service.name"] == "reenvio-test"


async def test_a_share_of_the_claims_is_traced() -> None:
    with collecting() as collector:
        settings = TelemetrySettings(exporter_otlp_endpoint=collector.endpoint, traces_sampler_arg=0.5)
        async with opened_tracing(settings) as tracing:
            await work(tracing, 400)
    assert 100 < len(collector.spans()) < 300


async def test_a_collector_that_is_away_keeps_nobody_from_working_or_ending_and_is_told_of() -> None:
    with capture_logs() as logs:
        async with opened_tracing(TelemetrySettings(exporter_otlp_endpoint=NOBODY)) as tracing:
            await work(tracing)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not logs:  # its own thread tries for some seconds
                await asyncio.sleep(0.05)
    assert {line["event"] for line in logs} == {"telemetry_trouble"}


@pytest.mark.parametrize("given", [{}, {"exporter_otlp_endpoint": NOBODY, "traces_exporter": "none"}])
async def test_without_an_address_or_with_none_as_exporter_there_is_no_tracer(given: Any) -> None:
    async with opened_tracing(TelemetrySettings(**given)) as tracing:
        assert type(tracing) is Untraced


async def test_the_settings_have_the_names_that_opentelemetry_gives_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", NOBODY)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.25")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "other")
    telemetry = read_settings().telemetry
    assert (telemetry.traces_to, telemetry.traces_sampler_arg, telemetry.service_name) == (
        NOBODY, 0.25, "other"
    )  # fmt: skip
    async with opened_tracing(telemetry) as tracing:
        assert isinstance(tracing, Traced)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317"),
        ("OTEL_TRACES_SAMPLER_ARG", "2"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name):
        read_settings()
