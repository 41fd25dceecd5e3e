"""Places at a payer: whoever finds none waits a moment, nobody for ever, and nobody's turn gets lost."""

import asyncio

import pytest

from workers.payers.places import WAITING_PER_PLACE, Places

PAYER, OTHER = "302147", "326305"


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Claims:
    """Claims that take a place and keep it until they are told to go."""

    def __init__(self, places: Places, number: int) -> None:
        self.places, self.number = places, number
        self.inside: list[str] = []
        self.leave: dict[str, asyncio.Event] = {}

    async def come(self, name: str, payer: str = PAYER) -> None:
        self.leave[name] = asyncio.Event()
        async with self.places.one(payer, self.number):
            self.inside.append(name)
            await self.leave[name].wait()
        self.inside.remove(name)


async def test_whoever_waits_has_the_next_place_in_the_order_of_coming() -> None:
    claims = Claims(Places(patience=60), 1)
    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(claims.come(name))
        await turns()
        for name in "abc":
            assert claims.inside == [name]
            claims.leave[name].set()
            await turns()
    assert claims.inside == []


async def test_a_place_at_another_payer_is_free() -> None:
    claims = Claims(Places(patience=60), 1)
    async with asyncio.TaskGroup() as group:
        group.create_task(claims.come("a"))
        group.create_task(claims.come("b", OTHER))
        await turns()
        assert claims.inside == ["a", "b"]
        for leave in claims.leave.values():
            leave.set()


async def test_one_too_many_goes_on_at_once_and_so_does_one_whose_patience_has_ended() -> None:
    claims = Claims(Places(patience=60), 1)
    names = "abcdefgh"[: 2 + WAITING_PER_PLACE]
    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(claims.come(name))
        await turns()
        assert claims.inside == [names[0], names[-1]]
        claims.leave[names[-1]].set()
        await turns()
        assert claims.inside == [names[0]]  # no place has become free
        for name in names:
            claims.leave[name].set()
    impatient = Claims(Places(patience=0), 1)
    async with asyncio.TaskGroup() as group:
        for name in "ab":
            group.create_task(impatient.come(name))
        await turns()
        assert impatient.inside == ["a", "b"]
        for leave in impatient.leave.values():
            leave.set()


async def test_a_claim_that_is_called_off_while_it_waits_takes_nobodys_turn() -> None:
    claims = Claims(Places(patience=60), 1)
    first, gone, last = (asyncio.create_task(claims.come(name)) for name in "abc")
    await turns()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    claims.leave["a"].set()
    await turns()
    assert claims.inside == ["c"]
    claims.leave["c"].set()
    await asyncio.gather(first, last)
