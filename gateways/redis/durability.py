"""Whether a Redis keeps what it is given: the settings that the rules require, checked on the server."""

from collections.abc import Iterator, Mapping, Sequence

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from gateways.sink import SinkError

REQUIRED = {
    "appendonly": ("yes",),
    "appendfsync": ("everysec", "always"),
    "maxmemory-policy": ("noeviction",),
}


async def durability_problems(redis: Redis) -> Sequence[str]:
    """One line for each setting that could lose events; a server that hides them is a problem too."""
    try:
        asked = [await redis.config_get(name) for name in REQUIRED]  # together only from Redis 7 on
    except ResponseError:
        return ("this Redis does not show its settings: see yourself that " + _wanted(),)
    except (RedisError, OSError) as error:
        raise SinkError(
            f"Redis does not answer ({type(error).__name__}): see that it runs and that REDIS_URL is right."
        ) from error
    settings = {_text(name): _text(value) for answer in asked for name, value in answer.items()}
    return tuple(_problems(settings))


def _problems(settings: Mapping[str, str]) -> Iterator[str]:
    for name, allowed in REQUIRED.items():
        if settings.get(name) not in allowed:
            wanted = " or ".join(allowed)
            yield f"{name} is {settings.get(name, 'not set')}, and must be {wanted} or events can be lost"


def _wanted() -> str:
    return ", ".join(f"{name} is {allowed[0]}" for name, allowed in REQUIRED.items())


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
