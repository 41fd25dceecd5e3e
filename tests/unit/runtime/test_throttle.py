"""The bound on reports under way follows the broker."""

import asyncio

from workers.runtime.throttle import CUT_AT_MOST_EVERY, SLOW_SECONDS, Throttle


class Time:
    """Moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_grows_by_one_per_round_without_trouble_up_to_the_most() -> None:
    throttle = Throttle(least=4, most=20)
    assert int(throttle.limit) == 12
    for _ in range(13):
        throttle.went_well(0.01)
    assert int(throttle.limit) == 13
    for _ in range(1000):
        throttle.went_well(0.01)
    assert throttle.limit == 20


def test_a_crowded_broker_cuts_it_once_in_a_while_down_to_the_least() -> None:
    time = Time()
    throttle = Throttle(least=4, most=20, seconds=time)
    throttle.crowded()
    cut = throttle.limit
    throttle.crowded()
    assert throttle.limit == cut < 12
    for _ in range(20):
        time.now += CUT_AT_MOST_EVERY
        throttle.went_well(SLOW_SECONDS * 2)
    assert throttle.limit == 4


async def test_never_more_under_way_than_the_limit() -> None:
    throttle, most, under_way = Throttle(least=2, most=4), 0, 0

    async def report() -> None:
        nonlocal most, under_way
        async with throttle:
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1

    await asyncio.gather(*(report() for _ in range(50)))
    assert most == 3


async def test_a_cancelled_wait_gives_its_place_to_the_next() -> None:
    throttle = Throttle(least=1, most=1)
    order: list[str] = []

    async def report(name: str) -> None:
        async with throttle:
            order.append(name)

    async with throttle:
        cancelled, waiting = asyncio.create_task(report("a")), asyncio.create_task(report("b"))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
    await waiting
    assert order == ["b"]
