"""Looks at where events go before it is trusted: a Redis that could lose them gets none."""

from collections.abc import Sequence

import structlog

from gateways.file_sink import FileSink
from gateways.redis import RedisStream
from gateways.sink import EventSink, OutgoingEvent, SinkError
from workers.config.events import EventSettings
from workers.config.settings import SettingsError

log = structlog.get_logger(__name__)


async def check_sink(sink: RedisStream | FileSink, settings: EventSettings) -> EventSink:
    """Refuse, or warn about, a Redis that could lose events; one that is away is checked when it is back."""
    if isinstance(sink, FileSink):
        return sink
    try:
        refusal = await _refusal(sink, settings)
    except SinkError as away:
        log.warning("redis_not_checked", why=str(away))
        return UncheckedStream(sink, settings)
    if refusal:
        raise SettingsError(refusal)
    return sink


class UncheckedStream:
    """A Redis that was away at the start: it gets no event before its settings were seen."""

    def __init__(self, stream: RedisStream, settings: EventSettings) -> None:
        self._stream = stream
        self._settings = settings
        self._is_checked = False

    async def send(self, events: Sequence[OutgoingEvent]) -> None:
        """Look at Redis first; events wait while it is away or refused."""
        if not self._is_checked and (refusal := await _refusal(self._stream, self._settings)):
            raise SinkError(f"{refusal} Events wait in the outbox meanwhile.")
        self._is_checked = True
        await self._stream.send(events)

    async def close(self) -> None:
        """Close the connections."""
        await self._stream.close()


async def _refusal(stream: RedisStream, settings: EventSettings) -> str | None:
    """Why this Redis gets no events, if it must not; warns where that is all that is wanted."""
    problems = await stream.problems()
    if problems and settings.unsafe == "refuse":
        return (
            f"Redis could lose events: {'; '.join(problems)}. Start it with the redis.conf we ship, "
            "or set REDIS_UNSAFE=warn to go on."
        )
    for problem in problems:
        log.warning("redis_unsafe", why=problem)
    for advice in await stream.advice():
        log.warning("redis_not_as_advised", why=advice)
    return None
