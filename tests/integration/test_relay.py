"""Events leave by the relay: all of them, in order, whatever happens to Redis or to the relay."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from gateways.clock import WallClock
from gateways.file_sink import FileSink
from gateways.redis import RedisStream, open_stream
from gateways.sink import EventSink, SinkError
from persistence.store import Store
from tests.integration.redis_server import RedisPlace, redis_place, redis_stream
from tests.support.builders import draft, later
from tests.support.waiting import eventually
from workers.upkeep.relay import Relay, RelayTerms

PATIENCE_SECONDS = 30.0


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RedisPlace]:
    async with redis_place(tmp_path) as place:
        yield place


@pytest.fixture
async def stream(server: RedisPlace) -> AsyncIterator[RedisStream]:
    opened = open_stream(server.url, stream=server.stream)
    yield opened
    await opened.close()


def relay(store: Store, sink: EventSink, name: str = "one") -> Relay:
    return Relay(store, sink, WallClock(), RelayTerms(name, batch=7, idle=0.005, first_pause=0.005))


@asynccontextmanager
async def running(*relays: Relay) -> AsyncIterator[None]:
    stop = asyncio.Event()
    tasks = [asyncio.create_task(one.run(stop, random.Random(1))) for one in relays]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks)


async def some_facts(store: Store, claims: int, each: int = 3) -> None:
    for n in range(each):
        drafts = [draft(f"CLM-R-{c}", count=n, now=later(hours=n)) for c in range(claims)]
        await asyncio.gather(*map(store.record, drafts))


async def all_carried(carrier: Relay) -> None:
    async def look() -> bool:
        return (await carrier.lag()).waiting == 0

    await eventually(look, PATIENCE_SECONDS)


async def arrived(server: RedisPlace) -> list[dict[str, str]]:
    redis = Redis.from_url(server.url, decode_responses=True)
    entries: Any = await redis.xrange(server.stream)
    await redis.aclose()
    return [fields for _, fields in entries]


def counts_by_claim(events: list[dict[str, str]]) -> dict[str, list[int]]:
    counts: dict[str, list[int]] = {}
    for event in events:
        payload = json.loads(event["payload"])
        counts.setdefault(event["claimId"], []).append(payload["retryCount"])
    return counts


async def test_every_event_arrives_once_and_in_the_order_of_its_claim(
    store: Store, server: RedisPlace, stream: RedisStream
) -> None:
    await some_facts(store, claims=20)
    carrier = relay(store, stream)
    async with running(carrier):
        await all_carried(carrier)
    assert counts_by_claim(await arrived(server)) == {f"CLM-R-{c}": [1, 2, 3] for c in range(20)}


async def test_while_redis_is_away_nothing_is_lost_and_nothing_blocks(
    store: Store, server: RedisPlace, stream: RedisStream
) -> None:
    carrier = relay(store, stream)
    async with running(carrier):
        await some_facts(store, claims=5, each=1)
        await all_carried(carrier)
        with capture_logs() as logs:
            await server.go_away()
            await some_facts(store, claims=10)
            behind = await carrier.lag()
            assert behind.waiting == 30
            await eventually(
                lambda: _true(any(entry["event"] == "relay_waits" for entry in logs)), PATIENCE_SECONDS
            )
        await server.come_back()
        await all_carried(carrier)
    events = await arrived(server)
    assert {claim: sorted(set(c)) for claim, c in counts_by_claim(events).items()} == {
        f"CLM-R-{c}": [1, 2, 3] for c in range(10)
    }
    assert all("REDIS_URL" in entry["why"] for entry in logs if entry["event"] == "relay_waits")


async def _true(value: bool) -> bool:
    return value


async def test_two_relays_take_turns_and_keep_the_order(
    store: Store, server: RedisPlace, stream: RedisStream
) -> None:
    one, two = relay(store, stream, "one"), relay(store, stream, "two")
    async with running(one, two):
        await some_facts(store, claims=10)
        await all_carried(one)
    assert counts_by_claim(await arrived(server)) == {f"CLM-R-{c}": [1, 2, 3] for c in range(10)}


async def test_without_redis_events_go_to_a_file(store: Store, tmp_path: Path) -> None:
    await some_facts(store, claims=4, each=1)
    file = tmp_path / "events.jsonl"
    assert await relay(store, FileSink(file)).carry() == 4
    assert await relay(store, FileSink(file)).carry() == 0
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(event["claimId"] for event in events) == [f"CLM-R-{c}" for c in range(4)]
    assert set(events[0]) == {"eventId", "type", "claimId", "occurredAt", "payload", "schemaVersion"}
    assert events[0]["payload"]["errorClassification"] == "TRANSIENT"


async def test_half_a_line_of_a_dead_relay_spoils_no_other(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text('{"eventId": "torn')
    await some_facts(store, claims=2, each=1)
    await relay(store, FileSink(file)).carry()
    torn, *whole = file.read_text().splitlines()
    assert torn == '{"eventId": "torn'
    assert len([json.loads(line) for line in whole]) == 2


async def test_a_file_that_cannot_be_written_says_so_and_keeps_the_events(
    store: Store, tmp_path: Path
) -> None:
    await some_facts(store, claims=2, each=1)
    carrier = relay(store, FileSink(tmp_path))
    with pytest.raises(SinkError, match="wait in the outbox"):
        await carrier.carry()
    assert (await carrier.lag()).waiting == 2


async def test_a_full_redis_refuses_and_the_events_wait(store: Store, tmp_path: Path) -> None:
    await some_facts(store, claims=2, each=1)
    async with redis_stream(tmp_path, "--maxmemory", "100kb") as stream:
        carrier = relay(store, stream)
        with pytest.raises(SinkError, match="memory"):
            await carrier.carry()
    assert (await carrier.lag()).waiting == 2
