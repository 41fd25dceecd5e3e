"""A worker that comes back from a suspended machine neither cancels nor sends what is another's by now."""

import asyncio
import copy
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from structlog.testing import capture_logs

from domain.claim_state import ClaimState
from domain.payer_status import PayerLimits
from domain.submission import Accepted, Submission
from gateways.tiss.client import TissClient
from gateways.tiss.judgement import Fenced, Reply
from gateways.tiss.transport import Asking, Request, open_line
from persistence.clock import DatabaseClock
from persistence.database.trouble import DatabaseError
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.claims import ClaimRow
from persistence.repositories.payloads import seal_payload
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.connected_payer import ConnectedPayer, connected_payer
from tests.support.services import services
from tests.support.tiss_samples import PAYER, file_bytes, file_text, payer
from workers.jobs import all_handlers
from workers.jobs.send_finish import EndedSend, EndingTerms, Told, finish_all
from workers.jobs.send_group import Begun
from workers.payers.cancelled import note_cancelled
from workers.payers.channels import PayerChannel, gateway_to
from workers.payers.fence import Fence
from workers.payers.limits import LimitsByPayer
from workers.runtime import Complete, Job, JobHandler, Outcome
from workers.runtime.executor import run_handler
from workers.runtime.outcome import Postpone

CLAIM = "CLM-X-1"
SEND, CLOSE = "submit-claim", "close-claim"
SUBMISSION = Submission(CLAIM, PAYER, 1)
TAKES = timedelta(seconds=60)
LIMITS = PayerLimits(per_minute=None, needs_proof=False)
AFTER_EVERY_LEASE = timedelta(minutes=30)
LOST_ONCE = {"rules": [{"arrivals": [1], "then": {"do": "lose-answer", "how": "reset"}}]}
DROPPED_ONCE = {"rules": [{"arrivals": [1], "then": {"do": "drop", "how": "reset"}}]}
CANCELS = {"cancel_when_ambiguous": True}


@dataclass
class MovedClock:
    moment: datetime = NOW

    async def now(self) -> datetime:
        return self.moment


class SleepyLine:
    """A line whose worker stands still before its next request, with all the clocks of its machine."""

    def __init__(self, line: Asking) -> None:
        self.line, self.reached, self.wakes = line, asyncio.Event(), asyncio.Event()

    async def ask(self, request: Request) -> Reply:
        self.reached.set()
        await self.wakes.wait()
        return await self.line.ask(request)


def sleepy(client: TissClient) -> tuple[TissClient, SleepyLine]:
    other = copy.copy(client)
    line = SleepyLine(client._line)
    other._line = line
    return other, line


@dataclass
class Fleet:
    """Two workers of one payer, of which one falls asleep before its first request."""

    store: Store
    played: ConnectedPayer
    clock: MovedClock = field(default_factory=MovedClock)
    cipher: Cipher = field(default_factory=lambda: cipher_of(new_key("k1")))

    def __post_init__(self) -> None:
        client, self.line = sleepy(self.played.client)
        self.sleeper, self.awake = self._worker(client), self._worker(self.played.client)

    def _worker(self, client: TissClient) -> Mapping[str, JobHandler]:
        gateway = gateway_to({PAYER: PayerChannel(payer(), client)}, self.store, self.clock)
        limits = LimitsByPayer({PAYER: LIMITS})
        given = services(self.store, payer=gateway, payer_limits=limits, cipher=self.cipher, clock=self.clock)
        return {handler.type: handler for handler in all_handlers(given)}

    async def do(self, job: Job) -> Outcome:
        return await run_handler(self.awake[job.type], job)

    async def falls_asleep(self, job: Job) -> asyncio.Task[Outcome]:
        """A send that has begun; when it wakes up, everything that was its worker's is over."""
        task = asyncio.ensure_future(run_handler(self.sleeper[job.type], job))
        await self.line.reached.wait()
        self.clock.moment += AFTER_EVERY_LEASE
        return task

    async def wakes_up(self, task: asyncio.Task[Outcome]) -> Outcome:
        self.line.wakes.set()
        return await task

    async def row(self) -> ClaimRow:
        return await row_of(self.store)


async def row_of(store: Store) -> ClaimRow:
    found = await store.look(lambda tx: tx.claims.find(CLAIM))
    assert found
    return found


def send(key: int, retry: int) -> Job:
    given = {"claimId": CLAIM, "payerId": PAYER, "retryCount": retry}
    return Job(key, SEND, "Task", 1, 3, {}, given)


@asynccontextmanager
async def fleet(
    store: Store, scenario: Mapping[str, object], settings: Mapping[str, object]
) -> AsyncIterator[Fleet]:
    async with connected_payer(scenario, settings) as played:
        workers = Fleet(store, played)
        sealed = seal_payload(workers.cipher, CLAIM, file_bytes(file_text()))
        await store.run(lambda tx: tx.payloads.put(CLAIM, sealed, now=NOW))
        yield workers


@pytest.mark.parametrize("scenario", [LOST_ONCE, DROPPED_ONCE])
@pytest.mark.parametrize("numbers", ["free", "spent"])
async def test_it_cancels_no_batch_that_was_accepted_meanwhile(
    store: Store, scenario: Mapping[str, object], numbers: str
) -> None:
    async with fleet(store, {**scenario, "cancelled_numbers": numbers}, CANCELS) as workers:
        await workers.do(send(1, 0))
        asleep = await workers.falls_asleep(send(2, 1))
        told, seen = await workers.do(send(2, 1)), list(workers.played.verdicts)
        row = await workers.row()
        assert isinstance(await workers.wakes_up(asleep), Complete | Postpone)
        assert workers.played.verdicts == seen
        assert await workers.row() == row
        if numbers == "free" or scenario is DROPPED_ONCE:
            assert row.state is ClaimState.ACCEPTED
            assert told == Complete({"protocolNumber": row.protocol_number})


async def test_it_sends_no_claim_that_people_have_ended_meanwhile(store: Store) -> None:
    async with fleet(store, {}, {}) as workers:
        asleep = await workers.falls_asleep(send(1, 0))
        closing = Job(2, CLOSE, "Task", 1, 3, {"outcome": "CANCELLED"}, {"claimId": CLAIM})
        assert isinstance(await workers.do(closing), Complete)
        assert isinstance(await workers.wakes_up(asleep), Postpone)
        assert workers.played.verdicts == []
        assert (await workers.row()).state is ClaimState.CANCELLED


async def test_it_sends_nothing_when_its_time_is_over_and_the_job_comes_again_at_no_cost(
    store: Store,
) -> None:
    async with fleet(store, {}, {}) as workers:
        asleep = await workers.falls_asleep(send(1, 0))
        assert isinstance(await workers.wakes_up(asleep), Postpone)
        assert workers.played.verdicts == []
        async with store.reading() as tx:
            assert not await tx.attempts.may_have_arrived(CLAIM)
        assert isinstance(await workers.do(send(1, 0)), Complete)
        assert workers.played.verdicts == ["taken"]
        async with store.reading() as tx:
            assert await tx.attempts.count(CLAIM) == 1


async def test_a_worker_that_only_waited_its_turn_sends(store: Store) -> None:
    async with fleet(store, LOST_ONCE, CANCELS) as workers:
        await workers.do(send(1, 0))
        workers.line.wakes.set()
        again = await run_handler(workers.sleeper[SEND], send(2, 1))
    assert isinstance(again, Complete)
    assert workers.played.verdicts == ["taken", "cancelled", "taken"]


async def begin(store: Store, *, until: datetime = NOW + TAKES * 2) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, PAYER, ClaimState.SUBMITTING, now=NOW)
        attempt = await tx.attempts.start(CLAIM, 1, now=NOW)
        await tx.payers.send_began(CLAIM, attempt, PAYER, until=until)


async def test_the_fence_opens_for_a_send_that_is_still_ours(store: Store) -> None:
    await begin(store)
    assert await Fence(store, MovedClock())(SUBMISSION, TAKES)


async def test_the_fence_is_shut_when_the_lease_ends_before_the_request_may(store: Store) -> None:
    await begin(store)
    assert not await Fence(store, MovedClock(NOW + TAKES))(SUBMISSION, TAKES)


async def test_the_fence_is_shut_when_a_later_send_has_begun(store: Store) -> None:
    await begin(store)
    await begin(store)
    assert not await Fence(store, MovedClock())(SUBMISSION, TAKES)


@pytest.mark.parametrize("end", [ClaimState.ACCEPTED, ClaimState.CANCELLED, ClaimState.WRITTEN_OFF])
async def test_the_fence_is_shut_for_a_claim_that_has_ended(store: Store, end: ClaimState) -> None:
    await begin(store)
    await store.run(lambda tx: tx.claims.close(CLAIM, end, now=NOW))
    assert not await Fence(store, MovedClock())(SUBMISSION, TAKES)


async def test_the_fence_is_shut_for_what_is_not_under_way(store: Store) -> None:
    assert not await Fence(store, MovedClock())(SUBMISSION, TAKES)
    await begin(store)
    await store.run(lambda tx: tx.payers.send_ended(CLAIM, 1))
    assert not await Fence(store, MovedClock())(SUBMISSION, TAKES)


async def test_the_fence_asks_the_database_where_its_clock_counts_whatever_the_machine_believes(
    store: Store,
) -> None:
    """All clocks of a suspended machine stand still: only the database knows how late it is."""
    machine = MovedClock()

    async def as_before() -> datetime:
        return NOW

    clock = DatabaseClock(as_before, machine, seconds=lambda: 0.0)
    assert await clock.now() == NOW
    await begin(store, until=await store.time() - timedelta(seconds=1))
    assert not await Fence(store, clock)(SUBMISSION, TAKES)
    await begin(store, until=await store.time() + TAKES * 2)
    assert await Fence(store, clock)(Submission(CLAIM, PAYER, 2), TAKES)


class AwayClock:
    """A clock nobody can read."""

    async def now(self) -> datetime:
        raise DatabaseError("The database does not answer.")


async def test_the_fence_is_shut_while_nobody_can_tell(store: Store) -> None:
    await begin(store)
    assert not await Fence(store, AwayClock())(SUBMISSION, TAKES)


async def test_what_is_fenced_has_not_left() -> None:
    asked: list[timedelta] = []

    async def may_not(takes: timedelta) -> bool:
        asked.append(takes)
        return False

    settings = payer("http://127.0.0.1:1/")
    async with open_line(settings) as line:
        assert await line.ask(Request("http://127.0.0.1:1/", b"<a/>", NOW, may_not)) == Fenced()
    assert asked == [timedelta(seconds=settings.timeouts.total)]


async def second_is_answered(store: Store, answer: Accepted) -> Outcome:
    """What the process of the second send is told."""
    begun = Begun(replace(SUBMISSION, attempt=2), None, None)
    ended = EndedSend(begun, process=1, result=answer, sought=None, began=NOW, at=NOW)
    [told] = await store.run(lambda tx: finish_all(tx, [ended], EndingTerms(LIMITS, None)))
    assert isinstance(told, Told)
    return told.outcome


async def accepted_by_the_second(store: Store) -> None:
    """The first send stands still behind its fence; the second is taken."""
    await begin(store)
    await begin(store)
    accepted = Accepted("P-2")
    await second_is_answered(store, accepted)
    assert (await row_of(store)).state is ClaimState.ACCEPTED


async def test_a_cancellation_that_hits_a_later_acceptance_is_an_alarm_and_a_person_gets_the_claim(
    store: Store,
) -> None:
    await accepted_by_the_second(store)
    with capture_logs() as logs:
        await store.run(lambda tx: note_cancelled(tx, SUBMISSION, NOW))
    [alarm] = [line for line in logs if line["event"] == "accepted_batch_cancelled"]
    assert (alarm["log_level"], alarm["protocol"]) == ("error", "P-2")
    row = await row_of(store)
    assert (row.state, row.protocol_number) == (ClaimState.IN_REVIEW, None)
    assert row.reason
    assert "P-2" in row.reason
    async with store.reading() as tx:
        events = [entry.event for entry in await tx.journal.of_claim(CLAIM)]
        assert (await tx.attempts.history(CLAIM)).accepted_protocol is None
    assert events == ["accepted", "cancelled_at_payer", "acceptance_cancelled"]


async def test_an_acceptance_heard_after_its_cancellation_ends_no_claim_and_a_person_asks(
    store: Store,
) -> None:
    await begin(store)
    await begin(store)
    await store.run(lambda tx: note_cancelled(tx, SUBMISSION, NOW))
    accepted = Accepted("P-2")
    told = await second_is_answered(store, accepted)
    assert told == Complete({"protocolNumber": None})
    assert (await row_of(store)).state is ClaimState.SUBMITTING
