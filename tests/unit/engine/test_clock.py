"""The engine's clock can be read and moved, and says plainly when it cannot."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from domain.ports import Clock
from gateways.clock import CountedClock, WallClock
from gateways.engine_clock import EngineClock, EngineClockError
from gateways.zeebe.engine import EngineConfig, start

from .support import Mirror, Notebook

NEARLY = timedelta(seconds=2)


@pytest.fixture
def management_url(config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook) -> str:
    installed("works")
    return start(config, notebook).management_url


async def test_the_wall_clock_is_aware_and_in_utc() -> None:
    clock: Clock = WallClock()
    assert (await clock.now()).utcoffset() == timedelta(0)


async def test_an_unmoved_engine_has_the_walls_time(management_url: str) -> None:
    clock: Clock = EngineClock(management_url)
    assert abs(await clock.now() - datetime.now(UTC)) < NEARLY


async def test_a_moved_engine_is_ahead_and_the_offset_is_remembered(management_url: str) -> None:
    remembered: list[timedelta] = []
    clock = EngineClock(management_url, remember=remembered.append)
    moved = await clock.advance(timedelta(hours=4))
    assert abs(moved - datetime.now(UTC) - timedelta(hours=4)) < NEARLY
    assert abs(await clock.offset() - timedelta(hours=4)) < NEARLY
    assert abs(remembered[0] - timedelta(hours=4)) < NEARLY


async def test_a_shared_client_stays_open(management_url: str) -> None:
    async with httpx.AsyncClient() as client:
        clock = EngineClock(management_url, client)
        await clock.now()
        await clock.now()
        assert not client.is_closed


async def test_the_clock_does_not_go_back(management_url: str) -> None:
    with pytest.raises(EngineClockError, match="only goes forward"):
        await EngineClock(management_url).advance(timedelta(seconds=-1))


async def test_an_engine_that_is_away_is_one_line_of_advice() -> None:
    with pytest.raises(EngineClockError, match="reenvio engine start") as refused:
        await EngineClock("http://127.0.0.1:9").now()
    assert "\n" not in str(refused.value)


async def test_a_broker_without_a_controlled_clock_is_told_apart(mirror: Mirror) -> None:
    with pytest.raises(EngineClockError, match="ZEEBE_CLOCK_CONTROLLED"):
        await EngineClock(mirror.url).now()


@pytest.mark.parametrize("answer", ["[]", "{}", "not json", '{"epochMilli": "late"}'])
async def test_an_answer_without_a_time_is_one_line_of_advice(mirror: Mirror, answer: str) -> None:
    (mirror.root / "actuator").mkdir()
    (mirror.root / "actuator" / "clock").write_text(answer)
    with pytest.raises(EngineClockError, match="answered HTTP 200 and no time"):
        await EngineClock(mirror.url).now()


class AskedClock:
    """An engine's clock that counts how often it was asked."""

    def __init__(self) -> None:
        self.time, self.asked = datetime(2026, 11, 16, 12, tzinfo=UTC), 0

    async def now(self) -> datetime:
        self.asked += 1
        await asyncio.sleep(0)
        return self.time


class MortalClock(AskedClock):
    """One that may stop answering."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False

    async def now(self) -> datetime:
        said = await super().now()
        if self.is_away:
            raise EngineClockError("The engine's clock does not answer.")
        return said


class Seconds:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.count = 50.0

    def __call__(self) -> float:
        return self.count


async def test_a_counted_clock_is_asked_once_a_second_however_many_want_to_know() -> None:
    engine, seconds = AskedClock(), Seconds()
    clock = CountedClock(engine, seconds=seconds)
    told = await asyncio.gather(*(clock.now() for _ in range(9)))
    assert (set(told), engine.asked) == ({engine.time}, 1)
    seconds.count += 0.75
    assert (await clock.now(), engine.asked) == (engine.time + timedelta(seconds=0.75), 1)
    seconds.count += 0.25
    engine.time += timedelta(hours=4)
    assert (await clock.now(), engine.asked) == (engine.time, 2)


async def test_a_job_from_a_moved_engine_tells_at_once() -> None:
    engine, seconds = AskedClock(), Seconds()
    clock = CountedClock(engine, seconds=seconds)
    await clock.now()
    clock.gave_out(engine.time.timestamp() - 30)  # it waited in a queue
    await clock.now()
    assert engine.asked == 1
    engine.time += timedelta(seconds=6)
    clock.gave_out(engine.time.timestamp())
    assert (await clock.now(), engine.asked) == (engine.time, 2)


async def test_an_engine_that_is_away_is_asked_again_the_next_time() -> None:
    clock = CountedClock(EngineClock("http://127.0.0.1:9"))
    for _ in range(2):
        with pytest.raises(EngineClockError, match="reenvio engine start"):
            await clock.now()


async def test_while_the_engine_is_away_its_last_word_is_counted_on() -> None:
    engine, seconds = MortalClock(), Seconds()
    clock = CountedClock(engine, seconds=seconds)
    first, engine.is_away = await clock.now(), True
    clock.gave_out(first.timestamp() + 3)  # moved, and gone
    seconds.count += 90
    assert await clock.now() == first + timedelta(seconds=90)
    engine.is_away, engine.time = False, first + timedelta(hours=4)
    assert await clock.now() == first + timedelta(seconds=90), "it is not asked at once again"
    seconds.count += 1
    assert await clock.now() == engine.time


async def test_an_engine_that_never_answered_is_asked_by_one_for_all() -> None:
    engine, seconds = MortalClock(), Seconds()
    engine.is_away = True
    clock = CountedClock(engine, seconds=seconds)
    told = await asyncio.gather(*(clock.now() for _ in range(8)), return_exceptions=True)
    assert {type(one) for one in told} == {EngineClockError}
    assert engine.asked == 1
