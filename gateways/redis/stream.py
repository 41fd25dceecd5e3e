"""Hands events to a Redis stream, in order, each with its id, and sees that Redis keeps what it is given."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from gateways.redis.server import (
    EVERY_SETTING,
    RedisMemory,
    advice_on,
    everything_wanted,
    memory_in,
    problems_in,
)
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
        """One line for each setting that could lose events; a server that hides them is a problem too."""
        settings = await self._settings()
        if settings is None:
            return ("this Redis does not show its settings: see yourself that " + everything_wanted(),)
        return tuple(problems_in(settings))

    async def advice(self) -> Sequence[str]:
        """One line for each other setting that is not as the rules have it; none where they are hidden."""
        settings = await self._settings()
        return () if settings is None else tuple(advice_on(settings))

    async def memory(self) -> RedisMemory:
        """How full the server is."""
        with _answering():
            return memory_in(await self._redis.info("memory") | await self._redis.info("stats"))

    async def _settings(self) -> Mapping[str, str] | None:
        """The settings in question, by name; None from a server that hides them."""
        with _answering():
            try:  # together only from Redis 7 on
                asked = [await self._redis.config_get(name) for name in EVERY_SETTING]
            except ResponseError:
                return None
        return {_text(name): _text(value) for answer in asked for name, value in answer.items()}

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()


def open_stream(url: str, *, stream: str = STREAM, keep: int | None = None) -> RedisStream:
    """The stream at an address such as redis://localhost:6379/0; connects when first used."""
    try:
        redis = Redis.from_url(url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS)
    except ValueError:  # it quotes the address, password and all
        raise SinkError(
            "REDIS_URL cannot be used: write it like redis://host:6379/0, with signs of a password as %40."
        ) from None
    return RedisStream(redis, stream=stream, keep=keep)


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError) as error:
        raise SinkError(
            f"Redis does not answer ({type(error).__name__}): see that it runs and that REDIS_URL is right."
        ) from error


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
