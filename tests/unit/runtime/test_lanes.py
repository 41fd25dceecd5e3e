"""A worker that serves many lanes by turns, against a gateway that can be told to misbehave."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import groupby

import grpc
import pytest

from domain.mail.fairness import FairnessTerms
from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from tests.support.faults import (
    DeliverTwice,
    End,
    Fault,
    FaultyGateway,
    LoseAnswer,
    Method,
    Refuse,
    Rule,
    faulty_gateway,
)
from tests.support.faults.kinds import name_of
from tests.support.lanes import CountedRoom, FixedClock, KnownLanes
from tests.unit.runtime.stage import QUICK, collected, done, until
from workers.mail.lane_order import FairOrder
from workers.runtime import Job, JobHandler, Outcome
from workers.runtime.events import GatewayFailed, JobTaken, LoopCrashed, RuntimeEvent
from workers.runtime.gate import Gate
from workers.runtime.lanes import Allowance, Lane, LanesUnknownError, LaneTerms
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker

TYPE = "send"
BIG, SMALL, TINY = (Lane(str(number), name) for number, name in enumerate(("big", "small", "tiny")))
ALL = (BIG, SMALL, TINY)


@pytest.fixture
async def gateway() -> AsyncIterator[FaultyGateway]:
    async with faulty_gateway() as here:
        yield here


def put(gateway: FaultyGateway, lane: Lane, number: int) -> None:
    for _ in range(number):
        gateway.store.create(f"{TYPE}-{lane.name}", {"companyId": lane.tenant})


def fair(*, enabled: bool = True) -> FairOrder:
    return FairOrder(FairnessTerms(enabled=enabled), FixedClock())


class Handled:
    """Whose jobs were begun, in their order, and how many at once."""

    def __init__(self, seconds: float = 0.0, room: CountedRoom | None = None) -> None:
        self.order: list[str] = []
        self.running = self.most = 0
        self._seconds = seconds
        self._room = room or CountedRoom(0)

    async def handle(self, job: Job) -> Outcome:
        self.order.append(job.variables["companyId"])
        self.running += 1
        self.most = max(self.most, self.running)
        self._room.free -= 1
        await asyncio.sleep(self._seconds)
        self._room.free += 1
        self.running -= 1
        return await done(job)


@asynccontextmanager
async def serving(
    gateway: FaultyGateway, handled: Handled, lanes: LaneTerms, *, at_once: int = 5, gate: Gate | None = None
) -> AsyncIterator[list[RuntimeEvent]]:
    """A worker beside the block; yields its events."""
    events, listener = collected()
    handler = JobHandler(
        TYPE, ("companyId",), handled.handle, lock=timedelta(seconds=1), time_limit=timedelta(seconds=0.9),
        at_once=at_once,
    )  # fmt: skip
    channel, stop = open_channel(Plaintext(gateway.address)), asyncio.Event()
    options = WorkerOptions("w", random.Random(1), listener=listener, timings=QUICK, gate=gate or Gate())
    worker = Worker(channel, [handler], options, {TYPE: lanes})
    running = asyncio.create_task(worker.run(stop, drain=timedelta(seconds=5)))
    try:
        yield events
    finally:
        stop.set()
        await asyncio.wait([running])
        await channel.close()
    running.result()


def completed(gateway: FaultyGateway) -> int:
    return gateway.ledger.ends[End.COMPLETED]


def runs(order: Sequence[str]) -> list[tuple[str, int]]:
    return [(tenant, len(list(run))) for tenant, run in groupby(order)]


async def test_lanes_are_served_by_turns_of_three_while_others_wait(gateway: FaultyGateway) -> None:
    put(gateway, BIG, 30)
    put(gateway, SMALL, 4)
    put(gateway, TINY, 2)
    source, handled = KnownLanes(ALL), Handled(0.002)
    source.tell(*ALL)
    async with serving(gateway, handled, LaneTerms(source, fair())):
        await until(lambda: completed(gateway) == 36)
    assert runs(handled.order[:12]) == [("big", 3), ("small", 3), ("tiny", 2), ("big", 3), ("small", 1)]
    assert Counter(handled.order) == {"big": 30, "small": 4, "tiny": 2}


async def test_switched_off_the_longest_waiting_lane_is_emptied_first(gateway: FaultyGateway) -> None:
    put(gateway, BIG, 20)
    put(gateway, SMALL, 4)
    source, handled = KnownLanes(ALL), Handled()
    source.tell(BIG, SMALL)
    async with serving(gateway, handled, LaneTerms(source, fair(enabled=False))):
        await until(lambda: completed(gateway) == 24)
    assert runs(handled.order) == [("big", 20), ("small", 4)]


async def test_no_more_is_held_than_can_be_worked_on(gateway: FaultyGateway) -> None:
    put(gateway, BIG, 20)
    source, handled = KnownLanes(ALL), Handled(0.05)
    source.tell(BIG)
    async with serving(gateway, handled, LaneTerms(source, fair()), at_once=5) as events:
        await until(lambda: completed(gateway) == 20 or held(events, gateway) > 5)
        assert held(events, gateway) <= 5
    assert handled.most == 5


def held(events: list[RuntimeEvent], gateway: FaultyGateway) -> int:
    return sum(isinstance(event, JobTaken) for event in events) - completed(gateway)


async def test_a_lane_nobody_told_of_is_looked_into_too(gateway: FaultyGateway) -> None:
    put(gateway, TINY, 2)
    handled = Handled()
    async with serving(gateway, handled, LaneTerms(KnownLanes(ALL), fair(), sweep_seconds=0.05)):
        await until(lambda: completed(gateway) == 2)
        put(gateway, TINY, 1)
        await until(lambda: completed(gateway) == 3)


async def test_new_mail_is_taken_as_soon_as_it_is_told_of(gateway: FaultyGateway) -> None:
    source, handled = KnownLanes(ALL), Handled()
    rarely = LaneTerms(source, fair(), look_seconds=3600, sweep_seconds=3600)
    async with serving(gateway, handled, rarely):
        await until(lambda: source.looks > 0)
        put(gateway, SMALL, 1)
        source.tell(SMALL)
        await until(lambda: completed(gateway) == 1)


async def test_a_lane_said_to_wait_but_found_empty_is_asked_again_until_its_job_is_there(
    gateway: FaultyGateway,
) -> None:
    source, handled = KnownLanes(ALL), Handled()
    source.tell(SMALL)
    async with serving(gateway, handled, LaneTerms(source, fair(), longest_pause=0.05)) as events:
        await until(lambda: sum(type(event).__name__ == "GatewayAnswered" for event in events) > 6)
        put(gateway, SMALL, 1)
        await until(lambda: completed(gateway) == 1)


async def test_no_more_is_taken_than_there_is_room_for(gateway: FaultyGateway) -> None:
    put(gateway, BIG, 12)
    room = CountedRoom(2)
    source, handled = KnownLanes(ALL), Handled(0.005, room)
    source.tell(BIG)
    async with serving(gateway, handled, LaneTerms(source, fair(), room)):
        await until(lambda: completed(gateway) == 12)
    assert handled.most == 2
    assert room.free == 2


@pytest.mark.parametrize(
    "fault",
    [
        Refuse(grpc.StatusCode.UNAVAILABLE),
        Refuse(grpc.StatusCode.RESOURCE_EXHAUSTED),
        LoseAnswer(),
        DeliverTwice(),
    ],
    ids=name_of,
)
async def test_trouble_with_the_gateway_costs_no_job_and_counts_none_twice(
    gateway: FaultyGateway, fault: Fault
) -> None:
    gateway.faults.switch(Rule(fault, frozenset({Method.ACTIVATE}), 0.5))
    put(gateway, BIG, 12)
    source, handled, order = KnownLanes(ALL), Handled(0.01), fair()
    source.tell(BIG)
    async with serving(gateway, handled, LaneTerms(source, order)):
        await until(lambda: completed(gateway) == 12)
    assert gateway.faults.injected[name_of(fault)] > 0
    assert {one.company_id: one.total_processed for one in order.metrics()}["big"] == len(handled.order)


class Blind(KnownLanes):
    """Cannot say who waits, for some times."""

    failures = 3

    async def waiting(self) -> Sequence[Lane]:
        if self.failures:
            self.failures -= 1
            raise LanesUnknownError("the database is away")
        return await super().waiting()


async def test_a_source_that_cannot_tell_is_asked_again_and_what_it_stands_on_is_looked_at(
    gateway: FaultyGateway,
) -> None:
    put(gateway, BIG, 2)
    source, looked = Blind(ALL), list[bool]()
    source.tell(BIG)

    async def well() -> bool:
        looked.append(True)
        return True

    async with serving(gateway, Handled(), LaneTerms(source, fair()), gate=Gate(well)) as events:
        await until(lambda: completed(gateway) == 2)
    assert len(looked) == 3
    assert [event.how for event in events if isinstance(event, LoopCrashed)] == ["lanes"] * 3
    assert not [event for event in events if isinstance(event, GatewayFailed)]


class OneHeld(CountedRoom):
    """One tenant may not send at all."""

    async def room(self, tenant: str, most: int) -> Allowance:
        return Allowance(0, 60.0) if tenant == "big" else await super().room(tenant, most)


async def test_a_tenant_at_its_own_limit_keeps_nobody_else_waiting(gateway: FaultyGateway) -> None:
    put(gateway, BIG, 3)
    put(gateway, SMALL, 7)
    source, handled = KnownLanes(ALL), Handled()
    source.tell(BIG, SMALL)
    async with serving(gateway, handled, LaneTerms(source, fair(), OneHeld(5))):
        await until(lambda: completed(gateway) == 7)
    assert set(handled.order) == {"small"}


async def test_what_was_begun_is_finished_when_the_worker_stops_and_the_rest_stays_in_its_lane(
    gateway: FaultyGateway,
) -> None:
    put(gateway, BIG, 50)
    source, handled = KnownLanes(ALL), Handled(0.05)
    source.tell(BIG)
    async with serving(gateway, handled, LaneTerms(source, fair())):
        await until(lambda: handled.running == 5)
    assert completed(gateway) + len(gateway.store.open_jobs()) == 50
    assert all(gateway.store.is_activatable(job.key) for job in gateway.store.open_jobs())


async def test_figures_of_every_tenant_served_are_there_for_who_asks(gateway: FaultyGateway) -> None:
    put(gateway, BIG, 4)
    put(gateway, SMALL, 1)
    source, order = KnownLanes(ALL), fair()
    source.tell(BIG, SMALL)
    async with serving(gateway, Handled(), LaneTerms(source, order)):
        await until(lambda: completed(gateway) == 5)
    assert {one.company_id: one.total_processed for one in order.metrics() if one.total_processed} == {
        "big": 4, "small": 1,
    }  # fmt: skip


async def test_tenants_of_one_lane_are_counted_each_for_itself(gateway: FaultyGateway) -> None:
    guest = replace(SMALL, name=BIG.name)
    for tenant in ("big", "big", "small", "big"):
        gateway.store.create(f"{TYPE}-{BIG.name}", {"companyId": tenant})
    put(gateway, TINY, 1)
    source, order = KnownLanes(ALL), fair()
    source.tell(BIG, guest, TINY)
    async with serving(gateway, Handled(), LaneTerms(source, order, tenant_variable="companyId")):
        await until(lambda: completed(gateway) == 5)
    totals = {one.company_id: one.total_processed for one in order.metrics()}
    assert totals == {"big": 3, "small": 1, "tiny": 1}


async def test_a_tenant_at_its_limit_keeps_nobody_of_its_lane_waiting(gateway: FaultyGateway) -> None:
    guest = replace(SMALL, name=BIG.name)
    gateway.store.create(f"{TYPE}-{BIG.name}", {"companyId": "small"})
    source, handled = KnownLanes(ALL), Handled()
    source.tell(BIG, guest)
    async with serving(gateway, handled, LaneTerms(source, fair(), OneHeld(5), "companyId")):
        await until(lambda: completed(gateway) == 1)
    assert handled.order == ["small"]


async def test_a_shared_lane_gives_no_more_than_a_batch_in_a_row_while_others_wait() -> None:
    guest, order = replace(SMALL, name=BIG.name), fair()
    given: list[str] = []
    for _ in range(12):
        turn = order.next_turn([BIG, guest, TINY])
        await order.served(turn.lane, ["tiny" if turn.lane == TINY else "big"] * turn.most)
        given += [turn.lane.name] * turn.most
    assert max(number for _, number in runs(given)) == 3
    assert Counter(given)[BIG.name] == Counter(given)[TINY.name]


def test_a_tenant_of_two_lanes_takes_turns_as_one() -> None:
    second = replace(BIG, name="7")
    order = fair()
    assert order.next_turn([BIG, second, SMALL]).lane == BIG
    assert order.next_turn([second, SMALL]).lane.tenant == "big"
