"""Places at a payer: who finds none waits where that is soon, and nobody's turn gets lost."""

import asyncio
from dataclasses import dataclass, field

import pytest

from domain.verdicts import PlaceWait
from workers.payers.places import PayerPlace, Places, PlacesClosedError, PlaceTerms

PAYER, OTHER = "302147", "326305"
SLOTS = 32
ASKS_AGAIN = PlaceWait(asks_again=True)


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@dataclass
class Time:
    """Seconds that pass when a test says so; pauses end then."""

    now: float = 100.0
    pauses: list[float] = field(default_factory=list)
    ends: list[tuple[float, asyncio.Event]] = field(default_factory=list)

    def seconds(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        end = asyncio.Event()
        self.ends.append((self.now + seconds, end))
        await end.wait()

    async def move(self, seconds: float) -> None:
        self.now += seconds
        for at, end in self.ends:
            if at <= self.now + 1e-9:
                end.set()
        await turns()


class Claims:
    """Claims that take a place, are sent, and keep it until they are told to go."""

    def __init__(self, number: int, terms: PlaceTerms | None = None) -> None:
        self.number, self.time = number, Time()
        self.places = Places(terms, seconds=self.time.seconds, pause=self.time.pause, jitter=lambda: 1.0)
        self.inside: list[str] = []
        self.leave: dict[str, asyncio.Event] = {}
        self.told: dict[str, PlaceWait] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, *names: str, payer: str = PAYER) -> None:
        for name in names:
            self.leave[name] = asyncio.Event()
            self.tasks[name] = asyncio.create_task(self._come(name, payer))
        await turns()

    async def _come(self, name: str, payer: str) -> None:
        async with self.places.one(payer, self.number, slots=SLOTS) as place:
            self.told[name] = place.wait()
            if self.told[name] != ASKS_AGAIN:
                return
            place.began()
            self.inside.append(name)
            await self.leave[name].wait()
            self.inside.remove(name)

    async def go(self, *names: str) -> None:
        for name in names:
            self.leave[name].set()
        await turns()

    @property
    def round(self) -> list[str]:
        """Who was sent round."""
        return [name for name, wait in self.told.items() if wait != ASKS_AGAIN]

    async def end(self) -> None:
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)


def many(number: int, first: int = 0) -> list[str]:
    return [f"claim-{place}" for place in range(first, first + number)]


async def test_whoever_waits_has_the_next_place_in_the_order_of_coming() -> None:
    claims = Claims(1)
    await claims.come(*"abc")
    for name in "abc":
        assert claims.inside == [name]
        await claims.go(name)
    assert claims.inside == []
    assert claims.round == []


async def test_nobody_overtakes_the_one_who_was_just_called() -> None:
    claims = Claims(1)
    await claims.come(*"ab")
    claims.leave["a"].set()
    while "a" in claims.inside:
        await asyncio.sleep(0)
    await claims.come("c")  # before the one who was called has run
    assert claims.inside == ["b"]
    await claims.go("b")
    assert claims.inside == ["c"]
    await claims.end()


async def test_a_place_at_another_payer_is_free() -> None:
    claims = Claims(1)
    await claims.come("a")
    await claims.come("b", payer=OTHER)
    assert claims.inside == ["a", "b"]
    await claims.end()


async def test_whoever_has_waited_for_long_goes_round() -> None:
    claims = Claims(1, PlaceTerms(patience=2.0))
    await claims.come(*"ab")
    await claims.time.move(1.0)
    assert claims.round == []
    for _ in range(4):
        await claims.time.move(0.5)
    assert (claims.inside, claims.round) == (["a"], ["b"])
    await claims.end()


async def test_claims_of_one_payer_leave_as_many_slots_to_others_as_they_wait_in() -> None:
    claims = Claims(4)
    await claims.come(*many(SLOTS))
    waiting = SLOTS - 4 - len(claims.round)
    assert waiting == (SLOTS - 4) // 2
    await claims.come(*(f"other-{place}" for place in range(4)), payer=OTHER)
    assert len(claims.inside) == 8
    await claims.end()


async def test_nobody_waits_in_the_worker_for_a_payer_that_is_slow() -> None:
    claims = Claims(4)
    await claims.come(*many(4))
    await claims.time.move(60)
    await claims.go(*many(4))
    await claims.come(*many(8, first=10))
    assert claims.inside == many(4, first=10)
    assert claims.round == many(4, first=14)
    await claims.end()


async def test_a_payer_that_has_become_slow_is_noticed_before_it_answers() -> None:
    claims = Claims(4)
    await claims.come(*many(4))
    await claims.time.move(0.1)
    await claims.go(*many(4))
    await claims.come(*many(4, first=10))
    await claims.time.move(60)
    await claims.come("late")
    assert claims.round == ["late"]
    await claims.end()


async def test_where_answers_come_at_once_all_slots_may_wait_for_a_place() -> None:
    claims = Claims(4)
    await claims.come(*many(4))
    await claims.time.move(0.1)
    await claims.go(*many(4))
    await claims.come(*many(SLOTS, first=10))
    assert claims.round == []
    await claims.end()


async def test_a_turn_follows_from_how_many_are_before_and_how_fast_places_become_free() -> None:
    claims = Claims(4)
    await claims.come(*many(4))
    await claims.time.move(24)
    await claims.go(*many(4))
    await claims.come(*many(4, first=10))
    await claims.come(*"abc")
    told = [claims.told[name].turn_in for name in "abc"]
    assert [wait and wait.total_seconds() for wait in told] == [6.0, 12.0, 18.0]
    await claims.time.move(5)
    await claims.come("d")
    wait = claims.told["d"].turn_in
    assert wait
    assert wait.total_seconds() == 19.0  # after theirs
    await claims.end()


async def test_no_turn_lies_further_ahead_than_anybody_can_know() -> None:
    claims = Claims(1, PlaceTerms(longest_turn=30.0))
    await claims.come("a")
    await claims.time.move(20)
    await claims.come(*"bcd")
    waits = [claims.told[name].turn_in for name in "bcd"]
    assert [wait and wait.total_seconds() for wait in waits] == [20.0, 30.0, 30.0]
    await claims.end()


async def test_a_claim_that_is_called_off_while_it_waits_takes_nobodys_turn() -> None:
    claims = Claims(1)
    await claims.come(*"abc")
    claims.tasks["b"].cancel()
    with pytest.raises(asyncio.CancelledError):
        await claims.tasks["b"]
    await claims.go("a")
    assert claims.inside == ["c"]
    await claims.end()


async def test_a_claim_that_is_called_off_as_it_is_called_hands_its_place_on() -> None:
    claims = Claims(1)
    await claims.come(*"abc")
    claims.leave["a"].set()
    while "a" in claims.inside:
        await asyncio.sleep(0)
    claims.tasks["b"].cancel()
    await turns()
    assert claims.inside == ["c"]
    await claims.end()


async def test_when_the_worker_stops_whoever_waits_is_turned_away_and_whoever_is_sent_stays() -> None:
    claims = Claims(1)
    await claims.come(*"abc")
    claims.places.close()
    await turns()
    for name in "bc":
        with pytest.raises(PlacesClosedError):
            await claims.tasks[name]
    assert claims.inside == ["a"]
    await claims.go("a")
    assert claims.places.sending == claims.places.waiting == 0
    await claims.tasks["a"]


async def test_when_the_worker_has_stopped_nobody_takes_a_free_place() -> None:
    claims = Claims(1)
    claims.places.close()
    await claims.come("a")
    with pytest.raises(PlacesClosedError):
        await claims.tasks["a"]


async def test_who_finds_the_places_taken_by_other_workers_is_turned_away_too() -> None:
    claims, asked = Claims(4), list[str]()
    async with claims.places.one(PAYER, 4) as place:
        again = asyncio.create_task(asking(place, asked, "a"))
        await turns()
        claims.places.close()
        with pytest.raises(PlacesClosedError):
            await again
    assert asked == []


async def asking(place: PayerPlace, answers: list[str], name: str) -> None:
    """Ask again for as long as other workers have the places."""
    await place.again()
    answers.append(name)


async def test_who_finds_the_places_taken_by_other_workers_asks_again_after_ever_longer_moments() -> None:
    claims, asked = Claims(4, PlaceTerms(patience=60, first_pause=0.1, longest_pause=0.4)), list[str]()
    async with claims.places.one(PAYER, 4, slots=SLOTS) as place:
        for number, pause in enumerate([0.1, 0.2, 0.4, 0.4], 1):
            again = asyncio.create_task(asking(place, asked, "a"))
            await turns()
            assert claims.time.pauses[-1] == pause
            await claims.time.move(pause)
            await again
            assert asked == ["a"] * number
            assert place.wait() == ASKS_AGAIN
        await claims.time.move(60)
        await place.again()
        assert place.wait().turn_in is not None


async def test_pauses_are_spread_by_the_chance_that_is_handed_in() -> None:
    time = Time()
    places = Places(PlaceTerms(first_pause=0.1), seconds=time.seconds, pause=time.pause, jitter=lambda: 0.0)
    async with places.one(PAYER, 4) as place:
        again = asyncio.create_task(place.again())
        await turns()
        assert time.pauses == [0.05]
        await time.move(0.05)
        await again


async def test_a_place_that_becomes_free_here_is_asked_for_at_once_and_by_the_first_in_line() -> None:
    claims, asked = Claims(4), list[str]()
    await claims.come("sends")
    async with (
        claims.places.one(PAYER, 4, slots=SLOTS) as first,
        claims.places.one(PAYER, 4, slots=SLOTS) as second,
    ):
        tasks = [asyncio.create_task(asking(first, asked, "first"))]
        await turns()
        tasks.append(asyncio.create_task(asking(second, asked, "second")))
        await turns()
        await claims.come("newcomer")
        assert claims.inside == ["sends"]
        await claims.go("sends")
        assert len(asked) == 1
        for _ in range(4):
            await claims.time.move(1)
        await asyncio.gather(*tasks)
    await claims.end()


async def test_who_finds_a_place_by_asking_calls_the_next() -> None:
    claims, asked = Claims(4), list[str]()
    async with claims.places.one(PAYER, 4, slots=SLOTS) as first:
        again = asyncio.create_task(asking(first, asked, "first"))
        await turns()
        await claims.time.move(0.03)
        await claims.come("a")
        await claims.time.move(0.02)
        await again
        assert claims.inside == []
        first.began()
        await turns()
        assert claims.inside == ["a"]
    await claims.end()


async def test_where_a_claim_was_not_sent_all_who_wait_ask_what_becomes_of_theirs() -> None:
    claims = Claims(1)
    async with claims.places.one(PAYER, 1, slots=SLOTS):
        await claims.come(*"abc")
        assert claims.inside == []
    await turns()
    assert claims.inside == ["a", "b", "c"]
    await claims.end()
