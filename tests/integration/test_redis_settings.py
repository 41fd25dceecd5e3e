"""The relay looks at Redis before it trusts it."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis
from structlog.testing import capture_logs

from gateways.redis import open_stream
from gateways.redis.stream import STREAM, RedisStream
from gateways.sink import OutgoingEvent, SinkError
from tests.integration.redis_server import redis_stream
from tests.support.builders import NOW
from workers.app.event_sinks import opened_sink
from workers.config.events import EventSettings
from workers.config.settings import Settings, SettingsError
from workers.upkeep.sinks import check_sink

LOOK_SECONDS, PATIENCE_SECONDS = 0.05, 60.0
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


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (("--maxmemory", "256mb"), "maxmemory is 268435456, and should be 512mb or more"),
        (("--maxmemory", "0"), "maxmemory is 0"),
        (("--aof-use-rdb-preamble", "no"), "aof-use-rdb-preamble is no, and should be yes"),
        (
            ("--auto-aof-rewrite-percentage", "0"),
            "auto-aof-rewrite-percentage is 0, and should be 100 or less",
        ),
        (("--auto-aof-rewrite-percentage", "300"), "auto-aof-rewrite-percentage is 300"),
        (("--auto-aof-rewrite-min-size", "128mb"), "auto-aof-rewrite-min-size is 134217728"),
    ],
    ids=str,
)
async def test_settings_that_lose_nothing_are_warned_about_and_not_refused(
    tmp_path: Path, options: tuple[str, str], advice: str
) -> None:
    async with redis_stream(tmp_path, *options) as stream:
        assert await stream.problems() == ()
        with capture_logs() as logs:
            await check_sink(stream, EventSettings(unsafe="refuse"))
    [entry] = logs
    assert entry["event"] == "redis_not_as_advised"
    assert advice in entry["why"]


async def test_more_memory_and_earlier_rewriting_are_as_good_as_the_rules_settings(tmp_path: Path) -> None:
    more = (
        "--maxmemory",
        "1gb",
        "--auto-aof-rewrite-percentage",
        "50",
        "--auto-aof-rewrite-min-size",
        "32mb",
    )
    async with redis_stream(tmp_path, *more) as stream:
        assert await stream.advice() == ()


async def test_how_full_redis_is_can_be_asked(tmp_path: Path) -> None:
    async with redis_stream(tmp_path) as stream:
        before = await stream.memory()
        await stream.send([replace(EVENT, payload="x" * 1_000_000)] * 3)
        after = await stream.memory()
    assert before.most == 512 * 1024 * 1024
    assert before.rejected_connections == 0
    assert after.used > before.used + 1_000_000
    assert after.share == after.used / 536_870_912


async def let_in(stream: RedisStream) -> None:
    """Have the one place there is, once whoever saw the server start has left it."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with suppress(SinkError):
                await stream.memory()
                return
            await asyncio.sleep(LOOK_SECONDS)


async def test_connections_that_redis_refused_are_counted(tmp_path: Path) -> None:
    async with redis_stream(tmp_path, "--maxclients", "1") as stream:
        await let_in(stream)
        other = open_stream(f"unix://{tmp_path}/redis.sock")
        with pytest.raises(SinkError, match="does not answer"):
            await other.memory()
        await other.close()
        assert (await stream.memory()).rejected_connections > 0


async def test_a_redis_without_a_limit_has_no_share(tmp_path: Path) -> None:
    async with redis_stream(tmp_path, "--maxmemory", "0") as stream:
        memory = await stream.memory()
    assert (memory.most, memory.share) == (None, None)


async def test_a_redis_that_hides_its_settings_is_told_so(tmp_path: Path) -> None:
    async with redis_stream(tmp_path, "--rename-command", "CONFIG", "HIDDEN") as stream:
        [problem] = await stream.problems()
        assert await stream.advice() == ()
    assert "does not show its settings" in problem
    assert "maxmemory is 512mb or more" in problem


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
