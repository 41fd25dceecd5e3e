"""Permits to send mail are shared by all processes of a database."""

import asyncio
from datetime import datetime, timedelta
from itertools import count

import pytest

from domain.mail.limits import MailLimits
from persistence.database.engine import open_database
from persistence.store import Store
from tests.support.builders import NOW
from workers.mail.permits import SharedMailLimits, SharedPermits
from workers.runtime.lanes import Allowance, LanesUnknownError

FREE = MailLimits(None, None)


class SetClock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.at = NOW

    async def now(self) -> datetime:
        return self.at

    def move(self, **by: float) -> None:
        self.at += timedelta(**by)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


def permits(store: Store, clock: SetClock, limits: SharedMailLimits, name: str = "a") -> SharedPermits:
    numbers = count(1)
    return SharedPermits(store, clock, limits, lambda: f"{name}-{next(numbers)}")


async def test_two_processes_together_have_no_more_under_way_than_may_be(
    store: Store, clock: SetClock
) -> None:
    limits = SharedMailLimits(MailLimits(None, 5), FREE)
    one, other = permits(store, clock, limits), permits(store, clock, limits, "b")
    assert len((await one.take("x", 3)).permits) == 3
    second = await other.take("y", 3)
    assert len(second.permits) == 2
    refused = await one.take("x", 1)
    assert refused.permits == ()
    assert refused.for_all
    other.ended(second.permits[0])
    await other.settle()
    assert len((await one.take("x", 3)).permits) == 1


async def test_two_processes_together_keep_the_minutes_number(store: Store, clock: SetClock) -> None:
    limits = SharedMailLimits(MailLimits(100, None), FREE)
    both = [permits(store, clock, limits, name) for name in "ab"]
    sent = 0
    for _ in range(120):  # a minute in steps of half a second
        for one in both:
            sent += len((await one.take("x", 3)).permits)
        clock.move(seconds=0.5)
    assert 90 <= sent <= 100


async def test_processes_that_ask_at_the_same_moment_do_not_share_a_permit(url: str, clock: SetClock) -> None:
    engines = [open_database(url) for _ in range(4)]
    limits = SharedMailLimits(MailLimits(100, 7), FREE)
    takers = [permits(Store(engine), clock, limits, f"p{number}") for number, engine in enumerate(engines)]
    given = await asyncio.gather(*(one.take(f"c{number}", 3) for number, one in enumerate(takers)))
    assert sum(len(allowance.permits) for allowance in given) == 7
    for engine in engines:
        await engine.dispose()


async def test_a_company_with_a_limit_of_its_own_waits_while_others_go(store: Store, clock: SetClock) -> None:
    limits = SharedMailLimits(MailLimits(None, 10), FREE, {"noisy": MailLimits(6, 1)})
    shared = permits(store, clock, limits)
    [held] = (await shared.take("noisy", 3)).permits
    refused = await shared.take("noisy", 3)
    assert (refused.permits, refused.for_all) == ((), False)
    assert len((await shared.take("calm", 3)).permits) == 3
    shared.ended(held)
    refused = await shared.take("noisy", 3)
    assert refused.permits == ()
    assert refused.again_seconds == pytest.approx(10)
    clock.move(seconds=refused.again_seconds)
    assert len((await shared.take("noisy", 3)).permits) == 1


@pytest.mark.parametrize(
    "limits", [SharedMailLimits(MailLimits(10, None), FREE), SharedMailLimits(FREE, MailLimits(10, None))]
)
async def test_what_was_not_used_is_room_again_and_what_was_used_is_not(
    store: Store, clock: SetClock, limits: SharedMailLimits
) -> None:
    shared = permits(store, clock, limits)
    for _ in range(20):
        shared.unused((await shared.take("x", 1)).permits)
    [used] = (await shared.take("x", 1)).permits
    shared.ended(used)
    assert (await shared.take("x", 1)).permits == ()


async def test_the_mail_of_a_worker_that_died_counts_until_its_lease_is_over(
    store: Store, clock: SetClock
) -> None:
    limits = SharedMailLimits(MailLimits(None, 1), FREE, lease=timedelta(minutes=5))
    assert (await permits(store, clock, limits).take("x", 1)).permits
    survivor = permits(store, clock, limits, "b")
    clock.move(minutes=4)
    assert not (await survivor.take("x", 1)).permits
    clock.move(minutes=1)
    assert (await survivor.take("x", 1)).permits


async def test_a_permit_that_a_clock_ahead_of_ours_gave_holds_nobody(store: Store, clock: SetClock) -> None:
    limits = SharedMailLimits(MailLimits(None, 1), FREE)
    fast = SetClock()
    fast.move(days=1)
    assert (await permits(store, fast, limits).take("x", 1)).permits
    assert (await permits(store, clock, limits, "b").take("x", 1)).permits


async def test_what_nobody_came_back_for_is_removed(store: Store, clock: SetClock) -> None:
    limits = SharedMailLimits(MailLimits(100, 5), MailLimits(100, 5))
    await permits(store, clock, limits).take("x", 3)
    clock.move(days=2)
    await permits(store, clock, limits, "b").settle()
    async with store.transaction() as tx:
        assert await tx.mail_paces.forget(before=clock.at, limit=10) == 0


async def test_a_database_that_is_away_is_told_as_such(store: Store, clock: SetClock) -> None:
    async with store.transaction() as tx:
        await tx._connection.exec_driver_sql("DROP TABLE mail_meters")
    with pytest.raises(LanesUnknownError):
        await permits(store, clock, SharedMailLimits()).take("x", 1)


async def test_permits_of_a_worker_that_is_stopped_while_it_asks_are_not_left_behind(
    store: Store, clock: SetClock
) -> None:
    limits = SharedMailLimits(MailLimits(None, 3), FREE)
    shared = permits(store, clock, limits)
    for turns in range(12):  # stopped a little later each time
        asking = asyncio.create_task(shared.take("x", 3))
        for _ in range(turns * 3):
            await asyncio.sleep(0)
        asking.cancel()
        [given] = await asyncio.gather(asking, return_exceptions=True)
        if isinstance(given, Allowance):
            shared.unused(given.permits)
        await shared.settle()
    assert len((await permits(store, clock, limits, "b").take("x", 3)).permits) == 3


async def test_two_workers_of_one_process_give_nothing_back_twice(store: Store, clock: SetClock) -> None:
    shared = permits(store, clock, SharedMailLimits(MailLimits(10, None, 5), FREE))
    shared.unused((await shared.take("x", 5)).permits)
    given = await asyncio.gather(*(shared.take("x", 3) for _ in range(4)))
    assert sum(len(allowance.permits) for allowance in given) == 5
