"""The relay looks at Redis before it trusts it."""

from pathlib import Path

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis
from structlog.testing import capture_logs

from gateways.redis import open_stream
from gateways.redis.stream import STREAM
from gateways.sink import OutgoingEvent, SinkError
from tests.integration.redis_server import redis_stream
from tests.support.builders import NOW
from workers.app.composition import opened_sink
from workers.config.events import EventSettings
from workers.config.settings import Settings, SettingsError
from workers.upkeep.sinks import check_sink

EVICTING = ("--maxmemory-policy", "allkeys-lru")
UNSAFE = ("--appendonly", "no", *EVICTING)
EVENT = OutgoingEvent("1", "CLM-1-1", "RetryScheduled", "{}", NOW)


async def test_the_settings_we_ship_are_the_required_ones(tmp_path: Path) -> None:
    async with redis_stream(tmp_path) as stream:
        assert await stream.problems() == ()


async def test_settings_that_lose_events_are_refused_or_warned_about(tmp_path: Path) -> None:
    async with redis_stream(tmp_path, *UNSAFE) as stream:
        with pytest.raises(SettingsError, match=r"appendonly is no.*maxmemory-policy is allkeys-lru"):
            await check_sink(stream, EventSettings(unsafe="refuse"))
        with capture_logs() as logs:
            await check_sink(stream, EventSettings(unsafe="warn"))
    assert [entry["event"] for entry in logs] == ["redis_unsafe", "redis_unsafe"]


async def test_a_redis_that_hides_its_settings_is_told_so(tmp_path: Path) -> None:
    async with redis_stream(tmp_path, "--rename-command", "CONFIG", "HIDDEN") as stream:
        [problem] = await stream.problems()
    assert "does not show its settings" in problem


async def test_a_redis_that_is_away_is_waited_for(tmp_path: Path) -> None:
    stream = open_stream(f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(SinkError, match="REDIS_URL"):
        await stream.problems()
    with capture_logs() as logs:
        await check_sink(stream, EventSettings())
    assert [entry["event"] for entry in logs] == ["redis_not_checked"]
    await stream.close()


async def test_a_redis_that_was_away_at_the_start_gets_no_event_before_it_was_checked(tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/redis.sock"
    sink = await check_sink(open_stream(url), EventSettings(unsafe="refuse"))
    with pytest.raises(SinkError, match="does not answer"):
        await sink.send([EVENT])
    async with redis_stream(tmp_path, *EVICTING), Redis.from_url(url) as redis:
        for _ in range(2):
            with pytest.raises(SinkError, match=r"allkeys-lru.*wait in the outbox"):
                await sink.send([EVENT])
        assert await redis.xlen(STREAM) == 0
        await redis.config_set("maxmemory-policy", "noeviction")
        await sink.send([EVENT])
        assert await redis.xlen(STREAM) == 1
        await sink.close()


async def test_an_address_that_makes_no_sense_is_a_setting_to_mend(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, events=EventSettings(url=SecretStr("http://x")))
    with pytest.raises(SettingsError, match="REDIS_URL"):
        async with opened_sink(settings):
            pass
