"""Files are handed in several at a time and told of in their order, whatever ends first."""

import asyncio
from collections.abc import Sequence

import pytest

from workers.cli.submit import in_order


class Works:
    """Works that end when the test says so; each is as large as its number."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ends: dict[int, asyncio.Event] = {}

    async def do(self, number: int) -> str:
        self.begun.append(number)
        await self.ends.setdefault(number, asyncio.Event()).wait()
        return str(number)

    def end(self, *numbers: int) -> None:
        for number in numbers:
            self.ends.setdefault(number, asyncio.Event()).set()


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_those_that_have_ended_are_told_of_together_and_in_their_order() -> None:
    works = Works()
    told = in_order([1, 2, 3, 4], works.do, size=lambda _: 1, room=4)
    waiting = asyncio.ensure_future(anext(told))
    await turns()
    works.end(3, 2)
    await turns()
    assert not waiting.done()
    works.end(1)
    assert await waiting == ["1", "2", "3"]
    works.end(4)
    assert await anext(told) == ["4"]


async def test_as_many_are_under_way_as_there_is_room_for_and_one_at_least() -> None:
    works = Works()
    told = in_order([9, 1, 2, 3, 4], works.do, size=lambda number: number, room=6)
    waiting = asyncio.ensure_future(anext(told))
    await turns()
    assert works.begun == [9]
    works.end(9)
    assert await waiting == ["9"]
    waiting = asyncio.ensure_future(anext(told))
    await turns()
    assert works.begun == [9, 1, 2, 3]
    works.end(1, 2, 3, 4)
    assert await waiting == ["1", "2", "3"]
    assert await anext(told) == ["4"]


async def test_what_ended_well_before_an_error_is_told_of_before_it() -> None:
    async def do(number: int) -> int:
        if number == 3:
            raise ValueError("the third")
        return number

    told: list[Sequence[int]] = []
    with pytest.raises(ValueError, match="the third"):
        async for some in in_order([1, 2, 3, 4], do, size=lambda _: 1, room=4):
            told.append(some)  # noqa: PERF401  # what was told stays when the error comes
    assert [one for some in told for one in some] == [1, 2]
