"""A company has a lane to itself while lanes are left; beyond that it shares its home."""

import asyncio
from datetime import timedelta

from domain.mail.lanes import HELD_FOR, TOUCHED_EVERY, all_lanes, lane_of
from persistence.store import Store
from tests.support.builders import NOW, later

LANES = 8


async def assigned(store: Store, company: str, *, after: timedelta = timedelta(), lanes: int = LANES) -> str:
    return await store.run(lambda tx: tx.mail_lanes.assign(company, lanes, now=NOW + after))


async def holders(store: Store) -> dict[str, str]:
    known = await store.look(lambda tx: tx.mail_lanes.known())
    return {one.lane: one.company_id for one in known}


async def test_each_company_has_its_own_lane_until_the_last_is_taken(store: Store) -> None:
    companies = [f"company-{number}" for number in range(LANES)]
    lanes = [await assigned(store, company) for company in companies]
    assert sorted(lanes) == sorted(all_lanes(LANES))
    assert await holders(store) == dict(zip(lanes, companies, strict=True))


async def test_companies_that_come_at_the_same_moment_do_not_get_the_same_lane(store: Store) -> None:
    lanes = await asyncio.gather(*(assigned(store, f"company-{number}") for number in range(LANES)))
    assert sorted(lanes) == sorted(all_lanes(LANES))


async def test_a_company_keeps_its_lane_for_as_long_as_its_mail_may_wait(store: Store) -> None:
    first = await assigned(store, "a")
    for step in range(1, 5):
        assert await assigned(store, "a", after=step * TOUCHED_EVERY) == first
    for number in range(LANES - 1):
        assert await assigned(store, f"b{number}", after=HELD_FOR) != first


async def test_when_all_lanes_are_taken_a_company_shares_its_home_lane(store: Store) -> None:
    for number in range(LANES):
        await assigned(store, f"company-{number}")
    assert await assigned(store, "late") == lane_of("late", LANES)


async def test_a_lane_that_nothing_can_wait_in_any_more_goes_to_the_next(store: Store) -> None:
    for number in range(LANES):
        await assigned(store, f"company-{number}")
    lane = await assigned(store, "late", after=HELD_FOR)
    held = await holders(store)
    assert held[lane] == "late"
    assert len(held) == LANES


async def test_a_company_leaves_a_lane_that_there_is_no_more(store: Store) -> None:
    lanes = {await assigned(store, f"company-{number}") for number in range(LANES)}
    assert len(lanes) == LANES
    assert await assigned(store, "company-0", after=timedelta(minutes=1), lanes=1) == "0"


async def test_an_assignment_within_the_half_hour_writes_nothing(store: Store) -> None:
    await assigned(store, "a")
    await assigned(store, "a", after=TOUCHED_EVERY - timedelta(seconds=1))
    lane = await store.look(lambda tx: tx.mail_lanes.assign("a", LANES, now=later(minutes=29)))
    assert (await holders(store))[lane] == "a"


async def test_lanes_that_a_clock_years_ahead_gave_away_go_to_the_next_and_their_own_keep_them(
    store: Store,
) -> None:
    years = timedelta(days=3650)
    first = await assigned(store, "company-0", after=years)
    for number in range(1, LANES):
        await assigned(store, f"company-{number}", after=years)
    assert await assigned(store, "company-0") == first
    late = await assigned(store, "late")
    held = await holders(store)
    assert (held[late], held[first]) == ("late", "company-0")
