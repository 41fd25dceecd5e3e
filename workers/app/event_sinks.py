"""Where events go, as the settings ask for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateways.file_sink import FileSink
from gateways.redis import RedisStream, open_stream
from gateways.sink import SinkError
from workers.app.private_files import EVENTS_FILE
from workers.config.settings import Settings, SettingsError


@asynccontextmanager
async def opened_sink(settings: Settings) -> AsyncIterator[RedisStream | FileSink]:
    """Where events go: Redis where an address is set, else a file in our home."""
    sink = _redis(settings) or FileSink(settings.home / EVENTS_FILE)
    try:
        yield sink
    finally:
        await sink.close()


def _redis(settings: Settings) -> RedisStream | None:
    url = settings.events.url
    try:
        return open_stream(url.get_secret_value(), keep=settings.events.stream_limit) if url else None
    except SinkError as refused:
        raise SettingsError(str(refused)) from refused
