"""Lanes with waiting mail are found in the database."""

import asyncio

import pytest

from domain.mail.mail import MailState
from persistence.store import Store, Transaction
from tests.support.builders import NOW, later
from tests.support.lanes import FixedClock
from tests.support.mails import a_mail
from workers.config.fairness import FairnessSettings
from workers.mail.fair_lanes import LaneNeeds, fair_lanes
from workers.mail.lane_source import StoredLanes
from workers.runtime.lanes import Lane, LanesUnknownError

LANES = 8


async def queue(store: Store, company: str, number: int, **changes: object) -> str:
    """Queue a mail in the company's lane."""

    async def add(tx: Transaction) -> str:
        lane = await tx.mail_lanes.assign(company, LANES, now=NOW)
        await tx.mails.add(a_mail(number, company_id=company, lane=lane, **changes))
        return lane

    return await store.run(add)


async def test_lanes_with_waiting_mail_are_found_the_longest_waiting_first(store: Store) -> None:
    second = await queue(store, "b", 1, enqueued_at=later(seconds=2))
    first = await queue(store, "a", 2, enqueued_at=later(seconds=1))
    await queue(store, "a", 3, enqueued_at=later(seconds=9))
    await queue(store, "c", 4, state=MailState.SENT)
    source = StoredLanes(store, LANES)
    assert await source.waiting() == [Lane(first, "a"), Lane(second, "b")]


async def test_every_lane_is_known_with_who_holds_it_also_one_that_there_is_no_more(store: Store) -> None:
    held = {await queue(store, f"company-{number}", number): f"company-{number}" for number in range(LANES)}
    source = StoredLanes(store, 2)
    await source.waiting()
    every = {lane.name: lane.tenant for lane in await source.every()}
    assert every == held


async def test_companies_that_share_a_lane_are_known_each_for_itself(store: Store) -> None:
    companies = [f"company-{number}" for number in range(LANES + 2)]
    for number, company in enumerate(companies):
        await queue(store, company, number, enqueued_at=later(seconds=number))
    found = await StoredLanes(store, LANES).waiting()
    assert sorted(lane.tenant for lane in found) == sorted(companies)
    assert len({lane.name for lane in found}) == LANES


async def test_a_lane_that_nobody_holds_has_a_name_of_its_own(store: Store) -> None:
    assert await StoredLanes(store, 2).every() == [Lane("0", "lane 0"), Lane("1", "lane 1")]


async def test_who_queues_mail_here_wakes_who_waits_for_it(store: Store) -> None:
    source = StoredLanes(store, LANES)
    waiting = asyncio.create_task(source.until_changed(3600))
    await asyncio.sleep(0)
    source.queued()
    await asyncio.wait_for(waiting, 20)
    await source.until_changed(0.001)  # nothing new: the time is over


async def test_a_database_that_cannot_tell_is_no_crash(store: Store) -> None:
    async with store.transaction() as tx:
        await tx._connection.exec_driver_sql("DROP TABLE mail_lanes")
    with pytest.raises(LanesUnknownError):
        await StoredLanes(store, LANES).waiting()


async def test_the_settings_make_lanes_that_serve_by_turns_within_the_limits(store: Store) -> None:
    lane = await queue(store, "a", 1)
    terms = fair_lanes(FairnessSettings(at_once=2), LANES, LaneNeeds(store, FixedClock())).terms()
    assert await terms.source.waiting() == [Lane(lane, "a")]
    assert terms.order.next_turn([Lane(lane, "a")]).most == 3
    assert (await terms.limits.room("a", 3)).number == 3
    assert terms.tenant_variable == "companyId"
