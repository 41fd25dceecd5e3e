"""`reenvio relay`: carries events from the outbox to Redis, or to a file where no Redis is set."""

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

import structlog
import typer

from gateways.clock import WallClock
from gateways.file_sink import FileSink
from gateways.redis import RedisStream
from gateways.sink import EventSink, OutgoingEvent, SinkError
from persistence.database.engine import open_database
from persistence.store import Store
from workers.app.serving import stop_on_signal
from workers.cli.database import with_store
from workers.config.memory import MemorySettings, read_memory_settings
from workers.config.settings import Settings, SettingsError, read_settings
from workers.upkeep.relay import Relay, RelayTerms

log = structlog.get_logger(__name__)


def relay(
    once: Annotated[bool, typer.Option("--once", help="Carry what waits now, then end.")] = False,
    lag: Annotated[bool, typer.Option("--lag", help="Only say how much waits, and since when.")] = False,
) -> None:
    """Carry events to the message queue until SIGINT or SIGTERM."""
    memory, home = read_memory_settings(), read_settings().reenvio_home

    async def go(store: Store) -> None:
        sink = memory.sink(home)
        try:
            if lag:
                await _say_lag(relay_of(store, sink))
                return
            carrier = relay_of(store, await check_sink(sink, memory))
            await (_carry_all(carrier) if once else _carry_on(carrier))
        finally:
            await sink.close()

    with_store(go)


@asynccontextmanager
async def beside(settings: Settings) -> AsyncIterator[None]:
    """A relay beside the block, as `reenvio up` runs it."""
    database, memory, stop = open_database(settings.database), read_memory_settings(), asyncio.Event()
    sink = memory.sink(settings.reenvio_home)
    try:
        checked = await check_sink(sink, memory)
        carrying = asyncio.create_task(relay_of(Store(database), checked).run(stop, random.Random()))  # noqa: S311  # jitter
        try:
            yield
        finally:
            stop.set()
            await carrying
    finally:
        await sink.close()
        await database.dispose()


def relay_of(store: Store, sink: EventSink) -> Relay:
    """A relay of this process."""
    name = f"{socket.gethostname()[:40]}-{os.getpid()}"
    return Relay(store, sink, WallClock(), RelayTerms(name))


async def check_sink(sink: RedisStream | FileSink, memory: MemorySettings) -> EventSink:
    """Refuse, or warn about, a Redis that could lose events; one that is away is checked when it is back."""
    if isinstance(sink, FileSink):
        return sink
    try:
        refusal = await _refusal(sink, memory)
    except SinkError as away:
        log.warning("redis_not_checked", why=str(away))
        return UncheckedStream(sink, memory)
    if refusal:
        raise SettingsError(refusal)
    return sink


class UncheckedStream:
    """A Redis that was away at the start: it gets no event before its settings were seen."""

    def __init__(self, stream: RedisStream, memory: MemorySettings) -> None:
        self._stream = stream
        self._memory = memory
        self._is_checked = False

    async def send(self, events: Sequence[OutgoingEvent]) -> None:
        """Look at Redis first; events wait while it is away or refused."""
        if not self._is_checked and (refusal := await _refusal(self._stream, self._memory)):
            raise SinkError(f"{refusal} Events wait in the outbox meanwhile.")
        self._is_checked = True
        await self._stream.send(events)

    async def close(self) -> None:
        """Close the connections."""
        await self._stream.close()


async def _refusal(stream: RedisStream, memory: MemorySettings) -> str | None:
    """Why this Redis gets no events, if it must not; warns where that is all that is wanted."""
    problems = await stream.problems()
    if problems and memory.redis_unsafe == "refuse":
        return (
            f"Redis could lose events: {'; '.join(problems)}. Start it with the redis.conf we ship, "
            "or set REDIS_UNSAFE=warn to go on."
        )
    for problem in problems:
        log.warning("redis_unsafe", why=problem)
    return None


async def _carry_all(carrier: Relay) -> None:
    total = 0
    while carried := await carrier.carry():
        total += carried
    typer.echo(f"{total} events carried.")


async def _carry_on(carrier: Relay) -> None:
    with stop_on_signal() as stop:
        log.info("relay_started")
        await carrier.run(stop, random.Random())  # noqa: S311  # jitter
        log.info("relay_stopped")


async def _say_lag(carrier: Relay) -> None:
    behind = await carrier.lag()
    since = f", the oldest since {behind.oldest.isoformat(timespec='seconds')}" if behind.oldest else ""
    typer.echo(f"{behind.waiting} events wait{since}.")
