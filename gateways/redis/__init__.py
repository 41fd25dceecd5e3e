"""Redis Streams as the message queue of the rules."""

from gateways.redis.server import RedisMemory
from gateways.redis.stream import RedisStream, open_stream

__all__ = ["RedisMemory", "RedisStream", "open_stream"]
