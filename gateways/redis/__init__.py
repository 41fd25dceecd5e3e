"""Redis Streams as the message queue of the rules."""

from gateways.redis.durability import durability_problems
from gateways.redis.stream import RedisStream, open_stream

__all__ = ["RedisStream", "durability_problems", "open_stream"]
