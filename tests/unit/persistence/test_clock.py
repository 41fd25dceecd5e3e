"""The shared clock: the database's word, carried on by counting seconds."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs
from structlog.typing import EventDict

from persistence.clock import FRESH, PAUSE, DatabaseClock
from persistence.database.trouble import DatabaseError
from tests.support.builders import NOW

HOURS = st.integers(-100_000, 100_000).map(lambda hours: timedelta(hours=hours))


class World:
    """A database and a machine, each with a clock, and seconds that pass by themselves."""

    def __init__(self, wrong_by: timedelta = timedelta()) -> None:
        self.passed = 0.0
        self.asked = 0
        self.wrong_by = wrong_by
        self.is_away = False

    async def ask(self) -> datetime:
        self.asked += 1
        await asyncio.sleep(0)
        if self.is_away:
            raise DatabaseError("away")
        return self.true

    async def now(self) -> datetime:
        return self.true + self.wrong_by

    @property
    def true(self) -> datetime:
        return NOW + timedelta(seconds=self.passed)

    def clock(self) -> DatabaseClock:
        return DatabaseClock(self.ask, self, seconds=lambda: self.passed)


@pytest.fixture
def logs() -> Iterator[list[EventDict]]:
    with capture_logs() as seen:
        yield seen


@given(wrong_by=HOURS, seconds=st.floats(0, 100_000))
def test_whatever_the_machines_clock_says_the_databases_time_is_told(
    wrong_by: timedelta, seconds: float
) -> None:
    async def story() -> None:
        world = World(wrong_by)
        clock = world.clock()
        await clock.now()
        world.passed = seconds
        assert abs(await clock.now() - world.true) < timedelta(milliseconds=1)

    asyncio.run(story())


async def test_the_database_is_asked_now_and_then_and_once_for_all_who_ask_together() -> None:
    world = World()
    clock = world.clock()
    await asyncio.gather(*(clock.now() for _ in range(20)))
    assert world.asked == 1
    world.passed += FRESH.total_seconds() + 1
    await asyncio.gather(*(clock.now() for _ in range(20)))
    assert world.asked == 2


@pytest.mark.parametrize("hours", [3, -3])
async def test_a_machines_clock_that_jumps_makes_it_ask_again_and_changes_nothing(hours: int) -> None:
    world = World()
    clock = world.clock()
    await clock.now()
    world.wrong_by = timedelta(hours=hours)
    assert await clock.now() == world.true
    assert world.asked == 2


async def test_while_the_database_is_away_its_last_word_is_carried_on_and_it_is_not_crowded() -> None:
    world = World()
    clock = world.clock()
    await clock.now()
    world.is_away, world.passed = True, FRESH.total_seconds() + 1
    assert [await clock.now() for _ in range(5)] == [world.true] * 5
    assert world.asked == 2
    world.passed += PAUSE.total_seconds() + 1
    await clock.now()
    assert world.asked == 3


async def test_a_database_that_never_answered_has_no_time_to_tell() -> None:
    world = World()
    world.is_away = True
    with pytest.raises(DatabaseError):
        await world.clock().now()


async def test_a_difference_is_named_when_it_begins_and_when_it_is_over(logs: list[EventDict]) -> None:
    world = World(timedelta(hours=3))
    clock = world.clock()
    for wrong_by in (timedelta(hours=3), timedelta(hours=3), timedelta()):
        world.wrong_by = wrong_by
        await clock.now()
        world.passed += FRESH.total_seconds() + 1
    assert [entry["event"] for entry in logs] == ["clocks_disagree", "clocks_agree"]
    assert logs[0]["machine"] == (NOW + timedelta(hours=3)).isoformat()
