"""What the process that runs the relay tells: how full Redis is, what waits, what cannot be published."""

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateways.file_sink import FileSink
from persistence.store import Store
from tests.integration.redis_server import redis_stream
from tests.support.builders import draft
from tests.support.scraped import Scrape, free_port, scrape
from workers.app.measuring import relay_measured
from workers.config.metrics import MetricSettings
from workers.config.settings import ProbeSettings, Settings, read_settings


async def seen(port: int, *names: str) -> Scrape:
    """A scrape in which the gauges have been read."""
    async with asyncio.timeout(60):
        while not {*names} <= {*(found := await scrape(port)).names}:
            await asyncio.sleep(0.05)
    return found


def settings_of(home: Path) -> Settings:
    probes, metrics = ProbeSettings(port=free_port()), MetricSettings(refresh_seconds=1)
    return Settings(home=home, probes=probes, metrics=metrics)


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_how_full_redis_is_is_told_beside_the_outbox(store: Store, tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    await store.record(draft("CLM-1-1"))
    async with (
        redis_stream(tmp_path, "--maxmemory", "600mb") as stream,
        relay_measured(settings, store, stream) as metering,
    ):
        metering.set_aside(2)
        told = "reenvio_redis_memory_used_bytes", "reenvio_outbox_waiting"
        found = await seen(settings.probes.port or 0, *told)
        memory = await stream.memory()
    assert found.value("reenvio_redis_memory_max_bytes") == 600 * 1024 * 1024
    assert 0 < (found.value("reenvio_redis_memory_used_bytes") or 0) < 2 * memory.used
    assert found.value("reenvio_redis_rejected_connections_total") == 0
    assert (found.value("reenvio_outbox_waiting") or 0) >= 1
    assert found.value("reenvio_events_set_aside_total") == 2


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_without_a_redis_only_the_outbox_is_told(store: Store, tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    async with relay_measured(settings, store, FileSink(tmp_path / "events.jsonl")):
        found = await seen(settings.probes.port or 0, "reenvio_outbox_waiting")
    assert found.value("reenvio_outbox_waiting") == 0
    assert found.value("reenvio_events_set_aside_total") == 0
    assert not any(name.startswith("reenvio_redis") for name in found.names)


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_metrics_that_opentelemetrys_own_switch_has_emptied_are_told_of(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "TRUE")
    settings = settings_of(tmp_path).model_copy(update={"telemetry": read_settings().telemetry})
    with capture_logs() as lines:
        async with relay_measured(settings, store, FileSink(tmp_path / "events.jsonl")) as metering:
            assert b"reenvio_" not in metering.metrics.exposition()
    [told] = [line for line in lines if line["event"] == "telemetry_switched_off"]
    assert "OTEL_SDK_DISABLED" in told["advice"]
