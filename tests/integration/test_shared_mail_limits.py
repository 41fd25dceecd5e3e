"""The limits of mail are shared by all processes of a database, and settled where an attempt begins."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count

import pytest

from domain.mail.limits import MailLimits
from domain.mail.mail import MailState
from persistence.database.engine import close_database, open_database
from persistence.store import Store, Transaction
from tests.support.builders import NOW
from tests.support.mails import a_mail
from workers.mail.limits import LONGEST_HOLD, MailLimiter, SharedMailLimits, forget_idle
from workers.runtime.lanes import LanesUnknownError

FREE = MailLimits(None, None)
LEASE = timedelta(seconds=30)


class SetClock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.at = NOW

    async def now(self) -> datetime:
        return self.at

    def move(self, **by: float) -> None:
        self.at += timedelta(**by)


class Sender:
    """Begins and ends mails as one process does, with what the limits say."""

    def __init__(self, store: Store, clock: SetClock, limits: SharedMailLimits, first: int = 1) -> None:
        self.limiter = MailLimiter(store, clock, limits, self._note)
        self.set_back: list[str] = []
        self._store = store
        self._clock = clock
        self._numbers = count(first)

    def _note(self, company_id: str) -> None:
        self.set_back.append(company_id)

    async def begin(self, company_id: str = "x") -> str | timedelta:
        """A mail that is being sent now, or how long it has to wait."""
        mail = a_mail(next(self._numbers), company_id=company_id)

        async def begin(tx: Transaction) -> str | timedelta:
            if wait := await self.limiter.admit(tx, company_id, self._clock.at):
                return wait
            await tx.mails.add(replace(mail, sending_until=self._clock.at + LEASE))
            return mail.outbox_id

        return await self._store.run(begin)

    async def begin_all(self, number: int, company_id: str = "x") -> list[str]:
        """Those of so many that may go."""
        found = [await self.begin(company_id) for _ in range(number)]
        return [one for one in found if isinstance(one, str)]

    async def end(self, outbox_id: str) -> None:
        """It was sent."""

        async def end(tx: Transaction) -> None:
            mail = await tx.mails.lock(outbox_id)
            assert mail is not None
            await tx.mails.save(replace(mail, state=MailState.SENT, sending_until=None))

        await self._store.run(end)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


async def test_two_processes_together_have_no_more_under_way_than_may_be(
    store: Store, clock: SetClock
) -> None:
    limits = SharedMailLimits(MailLimits(None, 5), FREE)
    one, other = Sender(store, clock, limits), Sender(store, clock, limits, 100)
    assert len(await one.begin_all(3, "x")) == 3
    second = await other.begin_all(3, "y")
    assert len(second) == 2
    assert await one.begin_all(1, "x") == []
    refused = await one.limiter.room("z", 1)
    assert (refused.number, refused.for_all) == (0, True)
    await other.end(second[0])
    assert len(await one.begin_all(3, "x")) == 1


async def test_two_processes_together_keep_the_minutes_number(store: Store, clock: SetClock) -> None:
    limits = SharedMailLimits(MailLimits(100, None), FREE)
    both = [Sender(store, clock, limits, first) for first in (1, 1_000)]
    sent = 0
    for _ in range(120):  # a minute in steps of half a second
        for one in both:
            sent += len(await one.begin_all((await one.limiter.room("x", 3)).number))
        clock.move(seconds=0.5)
    assert 90 <= sent <= 100


async def test_processes_that_begin_at_the_same_moment_do_not_share_a_place(
    url: str, clock: SetClock
) -> None:
    engines = [open_database(url) for _ in range(4)]
    limits = SharedMailLimits(MailLimits(100, 7), FREE)
    senders = [Sender(Store(engine), clock, limits, 100 * n) for n, engine in enumerate(engines)]
    begun = await asyncio.gather(*(one.begin_all(3, f"c{number}") for number, one in enumerate(senders)))
    assert sum(map(len, begun)) == 7
    for engine in engines:
        await close_database(engine)


async def test_a_company_with_a_limit_of_its_own_waits_while_others_go(store: Store, clock: SetClock) -> None:
    sender = Sender(store, clock, SharedMailLimits(MailLimits(None, 10), FREE, {"noisy": MailLimits(6, 1)}))
    [held] = await sender.begin_all(3, "noisy")
    refused = await sender.limiter.room("noisy", 3)
    assert (refused.number, refused.for_all) == (0, False)
    assert len(await sender.begin_all(3, "calm")) == 3
    await sender.end(held)
    refused = await sender.limiter.room("noisy", 3)
    assert refused.again_seconds == pytest.approx(10)
    clock.move(seconds=refused.again_seconds)
    assert (await sender.limiter.room("noisy", 3)).number == 1
    assert len(await sender.begin_all(1, "noisy")) == 1


async def test_mails_beyond_a_limit_are_set_back_each_further_than_the_one_before(
    store: Store, clock: SetClock
) -> None:
    sender = Sender(store, clock, SharedMailLimits(FREE, FREE, {"noisy": MailLimits(60, None, 1)}))
    await sender.begin("noisy")
    waits = [await sender.begin("noisy") for _ in range(3)]
    assert waits == [timedelta(seconds=second) for second in (1, 2, 3)]
    assert sender.set_back == ["noisy"] * 3
    last = [await sender.begin("noisy") for _ in range(2)]
    clock.move(seconds=1)
    assert isinstance(await sender.begin("noisy"), str)
    assert last == [timedelta(seconds=4), timedelta(seconds=5)]


async def test_nobody_is_set_back_further_than_an_hour(store: Store, clock: SetClock) -> None:
    sender = Sender(store, clock, SharedMailLimits(FREE, MailLimits(1, None)))
    await sender.begin()
    waits = [await sender.begin() for _ in range(70)]
    assert max(wait for wait in waits if isinstance(wait, timedelta)) == LONGEST_HOLD


async def test_the_database_is_not_asked_before_a_mail_until_one_could_not_go(
    store: Store, clock: SetClock
) -> None:
    sender = Sender(store, clock, SharedMailLimits(MailLimits(10, None, 1), FREE))
    assert (await sender.limiter.room("x", 3)).number == 3
    await sender.begin_all(2)
    assert (await sender.limiter.room("x", 3)).number == 0
    assert (await sender.limiter.room("y", 3)).number == 0


async def test_the_mail_of_a_worker_that_died_counts_until_its_lease_is_over(
    store: Store, clock: SetClock
) -> None:
    limits = SharedMailLimits(MailLimits(None, 1), FREE)
    assert await Sender(store, clock, limits).begin_all(1)
    survivor = Sender(store, clock, limits, 100)
    clock.move(seconds=29)
    assert not await survivor.begin_all(1)
    clock.move(seconds=1)
    assert await survivor.begin_all(1)


async def test_a_lease_that_a_clock_ahead_of_ours_gave_holds_nobody(store: Store, clock: SetClock) -> None:
    limits = SharedMailLimits(MailLimits(None, 1), FREE)
    fast = SetClock()
    fast.move(days=1)
    assert await Sender(store, fast, limits).begin_all(1)
    assert await Sender(store, clock, limits, 100).begin_all(1)


async def test_paces_that_hold_nobody_are_removed(store: Store, clock: SetClock) -> None:
    await Sender(store, clock, SharedMailLimits()).begin_all(3)
    clock.move(days=2)
    await store.run(lambda tx: forget_idle(tx, clock.at))
    assert await store.run(lambda tx: tx.mail_paces.forget(before=clock.at, limit=10)) == 0


async def test_a_database_that_is_away_is_told_as_such(store: Store, clock: SetClock) -> None:
    sender = Sender(store, clock, SharedMailLimits(MailLimits(10, None, 1), FREE))
    await sender.begin_all(2)
    async with store.transaction() as tx:
        await tx._connection.exec_driver_sql("DROP TABLE mail_meters")
    with pytest.raises(LanesUnknownError):
        await sender.limiter.room("x", 1)
