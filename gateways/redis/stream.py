"""Hands events to a Redis stream, in order, each with its id."""

from collections.abc import Sequence

from redis.asyncio import Redis
from redis.exceptions import RedisError

from gateways.redis.durability import durability_problems
from gateways.sink import OutgoingEvent, SinkError

STREAM = "reenvio:events"
TIMEOUT_SECONDS = 5


class RedisStream:
    """One stream for all claims: what is in order in the outbox is in order here."""

    def __init__(self, redis: Redis, *, stream: str = STREAM, keep: int | None = None) -> None:
        self._redis = redis
        self._stream = stream
        self._keep = keep

    async def send(self, events: Sequence[OutgoingEvent]) -> None:
        """Append a batch in one round trip, all or nothing; a batch sent twice has the same event ids."""
        try:
            async with self._redis.pipeline(transaction=True) as batch:
                for event in events:
                    fields: dict[str | bytes, str | bytes] = dict(event.fields().items())
                    batch.xadd(self._stream, fields, maxlen=self._keep, approximate=True)  # type: ignore[arg-type]
                await batch.execute()
        except (RedisError, OSError) as error:
            raise SinkError(
                f"Redis does not take events ({type(error).__name__}): see that it runs, has memory left and "
                "that REDIS_URL is right; they wait in the outbox meanwhile."
            ) from error

    async def problems(self) -> Sequence[str]:
        """Settings under which Redis could lose events."""
        return await durability_problems(self._redis)

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()


def open_stream(url: str, *, stream: str = STREAM, keep: int | None = None) -> RedisStream:
    """The stream at an address such as redis://localhost:6379/0; connects when first used."""
    try:
        redis = Redis.from_url(url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS)
    except ValueError as error:
        raise SinkError(f"REDIS_URL cannot be used: write it like redis://host:6379/0 ({error}).") from error
    return RedisStream(redis, stream=stream, keep=keep)
