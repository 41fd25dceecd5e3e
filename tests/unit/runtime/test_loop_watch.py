"""A loop that was kept from its turns is told of, with how long; one that turns is not."""

import asyncio
import time

from opentelemetry.sdk.resources import Resource
from structlog.testing import capture_logs

from tests.unit.runtime.stage import collected, until
from workers.app.logs import log_event
from workers.app.telemetry.metrics import ProcessMetrics
from workers.app.telemetry.runtime import RuntimeMetrics
from workers.runtime.events import LoopBlocked
from workers.runtime.loop_watch import BLOCKED_SECONDS, TICK_SECONDS, watched_loop


class PunctualClock:
    """Every look at it is one tick after the last."""

    turns = 0

    def __call__(self) -> float:
        self.turns += 1
        return self.turns * TICK_SECONDS


async def test_a_handler_that_blocks_the_loop_is_noticed() -> None:
    events, listener = collected()
    async with watched_loop(listener):
        await asyncio.sleep(0)
        time.sleep(3 * BLOCKED_SECONDS)  # noqa: ASYNC251  # what nobody may do
        await until(lambda: bool(events))
    blocked = events[0]
    assert isinstance(blocked, LoopBlocked)
    assert blocked.longest >= blocked.seconds >= BLOCKED_SECONDS


async def test_a_loop_that_turns_in_time_is_not_told_of() -> None:
    events, listener = collected()
    clock = PunctualClock()
    async with watched_loop(listener, seconds=clock):
        await until(lambda: clock.turns > 5)
    assert events == []


async def test_the_longest_block_so_far_is_kept() -> None:
    events, listener = collected()
    moments = iter([0.0, 1.0, 1.0 + TICK_SECONDS, 1.5, *(1.5 + n * TICK_SECONDS for n in range(1, 1_000))])
    async with watched_loop(listener, seconds=lambda: next(moments)):
        await until(lambda: len(events) == 2)
    assert events == [LoopBlocked(0.98, 0.98), LoopBlocked(0.46, 0.98)]


def test_a_block_is_measured_and_logged() -> None:
    metrics = ProcessMetrics(Resource.create())
    RuntimeMetrics(metrics).count(LoopBlocked(0.3, 0.5))
    with capture_logs() as logs:
        log_event(LoopBlocked(0.3, 0.5))
    assert logs == [{"event": "loop_blocked", "log_level": "warning", "seconds": 0.3, "longest": 0.5}]
    assert b"reenvio_loop_blocked_seconds_count 1.0" in metrics.exposition()
