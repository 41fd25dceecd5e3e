"""What can befall the connection and the gateway as a whole."""

import asyncio

import grpc
from pyzeebe import create_insecure_channel

from gateways.zeebe.channel import channel_options
from tests.chaos.arena import Arena, until

DOWN_SECONDS = 0.2
# of the two timeouts gRPC heeds the latter: with the first alone a dead connection lives for a minute
QUICK_KEEPALIVE = {
    "grpc.keepalive_time_ms": 500,
    "grpc.keepalive_timeout_ms": 500,
    "grpc.http2.ping_timeout_ms": 500,
}


async def restart(here: Arena) -> None:
    """The gateway dies, is away for a moment, and comes back on its port."""
    here.gateway.faults.note("gateway restarted")
    await here.gateway.kill()
    await asyncio.sleep(DOWN_SECONDS)
    await here.gateway.start()


async def cut(here: Arena) -> None:
    """Every connection is reset."""
    here.gateway.faults.note("connections reset")
    here.cable.cut()


async def break_streams(here: Arena) -> None:
    """Every stream ends with an error."""
    here.gateway.break_streams(grpc.StatusCode.INTERNAL)


async def half_open(here: Arena) -> None:
    """The connection stays open and dead until the worker dials again."""
    here.gateway.faults.note("half-open")
    before = here.cable.connections
    here.cable.go_dead()
    await until(lambda: here.cable.connections > before)
    assert here.cable.connections > before, "the worker did not notice that its connection is dead"
    here.cable.mend()


def quick_to_notice(address: str) -> grpc.aio.Channel:
    """The product's channel, with a keepalive that a test can wait for."""
    options = dict(channel_options()) | QUICK_KEEPALIVE
    return create_insecure_channel(address, tuple(options.items()))
