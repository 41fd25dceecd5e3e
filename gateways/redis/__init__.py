"""Redis Streams as the message queue of the rules."""

from gateways.redis.stream import RedisStream, open_stream

__all__ = ["RedisStream", "open_stream"]
