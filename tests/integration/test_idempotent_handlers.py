"""A handler that declares an operation: run once, answered from the record, restarted when it died."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from bpmn.names import JobType
from domain.payer_status import PayerState, PayerStatus
from domain.submission import Accepted, Failed, SendResult, Submission
from persistence.database.engine import close_database, open_database
from persistence.database.trouble import DatabaseError
from persistence.database.watch import Access
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.idempotency import OperationStatus, OperationTerms, StartedOperation
from persistence.store import Store, Transaction
from tests.support.builders import NOW, later
from tests.support.services import services
from workers.config.idempotency import IdempotencySettings, OperationName
from workers.config.settings import HandlerLimits, read_settings
from workers.jobs import all_handlers
from workers.jobs.limits import JobLimits
from workers.jobs.once import LEASE_MARGIN, Once, Operation, Remembered, operation_key
from workers.runtime import Complete, Fail, Incident, Job, Outcome, Postpone, Throw

OPERATION = Operation(
    OperationName.SUBMIT_CLAIM, inputs=("claimId", "retryCount"), undone=frozenset({"NOT_DONE"})
)


@dataclass
class Time:
    """A clock that tests move."""

    moment: datetime = NOW

    async def now(self) -> datetime:
        return self.moment


@dataclass
class Work:
    """A handler's coroutine with answers to give; counts its runs."""

    answers: list[Outcome | Exception] = field(default_factory=lambda: [Complete({"protocolNumber": "P-1"})])
    runs: int = 0

    async def __call__(self, _job: Job) -> Outcome:
        self.runs += 1
        answer = self.answers[min(self.runs, len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def cipher() -> Cipher:
    return cipher_of(new_key("k1"))


@dataclass(frozen=True)
class Memory:
    """Where records are kept, and for how long; operations of four minutes run in it, each once."""

    store: Store
    cipher: Cipher
    clock: Time
    idempotency: IdempotencySettings = field(default_factory=IdempotencySettings)

    @property
    def once(self) -> Once:
        lease, ttl = timedelta(minutes=4) + LEASE_MARGIN, self.idempotency.ttl(OPERATION.name)
        return Once(OPERATION, self.cipher, OperationTerms(lease, OPERATION.max_retries, ttl))

    async def begin(self, job: Job) -> StartedOperation | Remembered:
        async def begin(tx: Transaction) -> StartedOperation | Remembered:
            starts = await self.once.standing(tx, {"it": job}, self.clock.moment)
            if isinstance(known := starts["it"], Remembered):
                return known
            return (await self.once.begin(tx, starts, ["it"], self.clock.moment))["it"]

        return await self.store.run(begin)

    async def settle(self, begun: StartedOperation, told: object) -> None:
        await self.store.run(lambda tx: self.once.settle_all(tx, [(begun, told)], self.clock.moment))


@pytest.fixture
def memory(store: Store, clock: Time, cipher: Cipher) -> Memory:
    return Memory(store, cipher, clock)


def once(
    work: Callable[[Job], Awaitable[Outcome]], memory: Memory
) -> Callable[[Job], Coroutine[None, None, Outcome]]:
    async def handle(job: Job) -> Outcome:
        begun = await memory.begin(job)
        if isinstance(begun, Remembered):
            return begun.told
        try:
            told = await work(job)
        except Exception as error:
            await memory.settle(begun, error)
            raise
        await memory.settle(begun, told)
        return told

    return handle


def job(**variables: object) -> Job:
    return Job(7, "submit-claim", "Task_SubmitClaim", 42, 3, {}, {"claimId": "CLM-1-1"} | variables)


async def status(memory: Memory) -> OperationStatus | None:
    async with memory.store.reading() as tx:
        record = await tx.idempotency.find_by_key(operation_key(job(), OPERATION).text)
    return record.status if record else None


async def test_a_repetition_gets_the_first_result_without_running(memory: Memory) -> None:
    work = Work()
    handle = once(work, memory)
    assert [await handle(job()) for _ in range(3)] == [Complete({"protocolNumber": "P-1"})] * 3
    assert work.runs == 1


async def test_a_business_error_is_a_result_too(memory: Memory) -> None:
    failed = Throw("SUBMISSION_FAILED", "TIMEOUT", {"submissionError": "TIMEOUT"})
    work = Work([failed, Complete({"protocolNumber": "P-2"})])
    handle = once(work, memory)
    assert [await handle(job()) for _ in range(3)] == [failed] * 3
    assert work.runs == 1


async def test_other_inputs_are_another_execution_and_2_is_the_same_as_2_0(memory: Memory) -> None:
    work = Work()
    handle = once(work, memory)
    for variables in ({}, {"retryCount": 1}, {"retryCount": 2}, {"retryCount": 2.0}, {"other": 1}):
        await handle(job(**variables))
    assert work.runs == 3


async def test_the_result_is_unreadable_in_the_database(memory: Memory, database: AsyncEngine) -> None:
    await once(Work([Complete({"name": "Maria da Silva"})]), memory)(job())
    async with database.connect() as connection:
        stored = str(await connection.scalar(text("SELECT result_data FROM idempotency_records")))
    assert stored.startswith("g1:k1:")
    assert "Maria" not in stored


async def test_who_comes_while_it_runs_is_told_to_come_back_when_the_lease_is_over(
    memory: Memory, clock: Time
) -> None:
    running, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_job: Job) -> Outcome:
        running.set()
        await go_on.wait()
        return Complete()

    first = asyncio.create_task(once(slow, memory)(job()))
    await running.wait()
    clock.moment = later(minutes=1)
    refused = await once(Work(), memory)(job())
    assert isinstance(refused, Postpone), "waiting for another worker must cost no retry"
    assert refused.backoff == timedelta(minutes=3, seconds=11)
    go_on.set()
    assert await first == Complete()


async def test_a_crash_may_be_repeated_three_times_then_a_person_must_look(memory: Memory) -> None:
    work = Work([ValueError("CPF 123.456.789-09")])
    handle = once(work, memory)
    for _ in range(4):
        with pytest.raises(ValueError, match="CPF"):
            await handle(job())
    incident = await handle(job())
    assert isinstance(incident, Incident)
    assert "RN-IdempotencyRecord" in incident.message
    assert "ValueError" in incident.message
    assert "CPF" not in incident.message
    assert "reenvio retention unlock 42" in incident.message
    assert work.runs == 4


def away() -> DatabaseError:
    trouble = DatabaseError("The database does not answer")
    trouble.__cause__ = ConnectionRefusedError()
    return trouble


async def test_trouble_of_the_database_that_may_pass_is_not_counted(memory: Memory) -> None:
    handle = once(Work([*[away()] * 6, Complete({"ok": True})]), memory)
    for _ in range(6):
        with pytest.raises(DatabaseError):
            await handle(job())
    assert await handle(job()) == Complete({"ok": True})


async def test_trouble_that_may_pass_changes_nothing_in_what_was_counted(memory: Memory) -> None:
    work = Work([ValueError(), *[away()] * 6, *[ValueError()] * 3])
    handle = once(work, memory)
    for _ in range(10):
        with pytest.raises((ValueError, DatabaseError)):
            await handle(job())
    incident = await handle(job())
    assert isinstance(incident, Incident)
    assert "ValueError" in incident.message
    assert work.runs == 10


async def test_trouble_that_waiting_cannot_mend_is_counted(memory: Memory) -> None:
    handle = once(Work([DatabaseError("no such table")]), memory)
    for _ in range(4):
        with pytest.raises(DatabaseError):
            await handle(job())
    assert isinstance(await handle(job()), Incident)


async def test_an_answer_that_is_no_result_may_start_again(memory: Memory) -> None:
    again = Fail("payer's certificate expired", timedelta(seconds=5))
    handle = once(Work([again, Complete({"ok": True})]), memory)
    assert await handle(job()) == again
    assert await status(memory) is OperationStatus.FAILED
    assert await handle(job()) == Complete({"ok": True})


async def test_what_was_not_done_is_not_remembered_however_often(memory: Memory) -> None:
    handle = once(Work([Throw("NOT_DONE", "payer is down")]), memory)
    for _ in range(6):
        assert isinstance(await handle(job()), Throw)
    assert await status(memory) is None


async def test_a_worker_that_was_stopped_leaves_it_to_the_next_after_its_lease(
    memory: Memory, clock: Time
) -> None:
    async def endless(_job: Job) -> Outcome:
        await asyncio.Event().wait()
        return Complete()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await once(endless, memory)(job())
    assert isinstance(await once(Work(), memory)(job()), Postpone)
    clock.moment = later(minutes=4, seconds=11)
    assert isinstance(await once(Work(), memory)(job()), Complete)


async def test_after_a_day_it_may_run_again(memory: Memory, clock: Time) -> None:
    work = Work()
    handle = once(work, memory)
    await handle(job())
    clock.moment = later(hours=25)
    await handle(job())
    assert work.runs == 2


async def expiry(store: Store) -> timedelta:
    async with store.reading() as tx:
        [record] = await tx.idempotency.find_by_process_instance("1")
    return record.expires_at - record.created_at


@pytest.mark.parametrize(
    ("variables", "hours"),
    [({}, 24),
     ({"IDEMPOTENCY_TTL_HOURS": "48"}, 48),
     ({"IDEMPOTENCY_TTL_HOURS": "1.5"}, 1.5),
     ({"IDEMPOTENCY_TTL_HOURS_BY_OPERATION": '{"submit_claim": 72}'}, 72),
     ({"IDEMPOTENCY_TTL_HOURS": "2", "IDEMPOTENCY_TTL_HOURS_BY_OPERATION": '{"submit_claim": 72}'}, 72)],
)  # fmt: skip
async def test_a_record_is_kept_as_long_as_the_environment_says(
    store: Store, cipher: Cipher, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], hours: float
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    handlers = all_handlers(services(store, cipher=cipher, idempotency=read_settings().idempotency))
    [submit] = [handler for handler in handlers if handler.type == "submit-claim"]
    given = {"claimId": "CLM-1-1", "payerId": "p"}
    await submit.handle(Job(1, submit.type, "Task_SubmitClaim", 1, 3, {}, given))
    assert await expiry(store) == timedelta(hours=hours)


async def test_a_record_outlives_a_day_where_that_is_set(memory: Memory, clock: Time) -> None:
    work = Work()
    handle = once(work, replace(memory, idempotency=IdempotencySettings(ttl_hours=48)))
    await handle(job())
    for hours, runs in ((25, 1), (47.9, 1), (48.1, 2)):
        clock.moment = later(hours=hours)
        await handle(job())
        assert work.runs == runs


class Payer:
    """Answers by plan and counts what reached it."""

    def __init__(self, *answers: SendResult) -> None:
        self.answers = list(answers)
        self.sent: list[Submission] = []

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        self.sent.append(submission)
        return self.answers[len(self.sent) - 1]


def held_until(moment: datetime) -> PayerStatus:
    return PayerStatus("p", NOW, PayerState.PAUSED, reason="planned", next_try_at=moment)


async def test_submit_claim_declares_it(store: Store, cipher: Cipher, clock: Time) -> None:
    payer = Payer(Failed("TIMEOUT"), Accepted("P-1"))
    handlers = all_handlers(services(store, payer=payer, clock=clock, cipher=cipher))
    await store.run(lambda tx: tx.payers.lock("p", now=NOW))
    await store.run(lambda tx: tx.payers.save(held_until(later(minutes=10))))
    [submit] = [handler for handler in handlers if handler.type == "submit-claim"]
    assert {"claimId", "payerId", "retryCount", "reviewRound"} <= set(submit.variables)

    async def send(key: int, **variables: object) -> Outcome:
        given = {"claimId": "CLM-1-1", "payerId": "p"} | variables
        return await submit.handle(Job(key, submit.type, "Task_SubmitClaim", 1, 3, {}, given))

    for key in (1, 2):
        waits = await send(key)
        assert isinstance(waits, Throw)
        assert waits.code == "PAYER_UNAVAILABLE"
    clock.moment = later(minutes=10)
    first = await send(3)
    assert isinstance(first, Throw)
    assert first.code == "SUBMISSION_FAILED"
    assert await send(4) == first
    assert await send(5, retryCount=1) == Complete({"protocolNumber": "P-1"})
    assert await send(6, retryCount=1) == Complete({"protocolNumber": "P-1"})
    assert len(payer.sent) == 2


class Repeater:
    """Gets the job delivered once more while it takes the claim."""

    def __init__(self) -> None:
        self.again: Callable[[], Awaitable[Outcome]]
        self.repetition: Outcome | None = None

    async def send(self, _submission: Submission, _now: datetime) -> SendResult:
        self.repetition = await self.again()
        return Accepted("P-1")


async def test_a_send_is_not_begun_again_before_the_time_limit_that_is_set_for_it(
    store: Store, cipher: Cipher, clock: Time
) -> None:
    payer = Repeater()
    longer = HandlerLimits(time_limit_seconds=900, lock_seconds=1000)
    limits = JobLimits({JobType.SUBMIT_CLAIM: longer})
    handlers = all_handlers(services(store, payer=payer, clock=clock, cipher=cipher, limits=limits))
    [submit] = [handler for handler in handlers if handler.type == JobType.SUBMIT_CLAIM]
    job = Job(1, submit.type, "Task_SubmitClaim", 1, 3, {}, {"claimId": "CLM-1-1", "payerId": "p"})
    payer.again = lambda: submit.handle(job)
    await submit.handle(job)
    assert isinstance(payer.repetition, Postpone)
    assert payer.repetition.backoff > submit.time_limit == timedelta(seconds=900)


class Blocker:
    """A payer that accepts, and a database that nobody can write to from then on until it was refused."""

    def __init__(self, url: str, may_end: Callable[[], bool]) -> None:
        self._url = url
        self._may_end = may_end
        self._blocking: asyncio.Task[None] | None = None
        self.sent = 0

    async def send(self, _submission: Submission, _now: datetime) -> SendResult:
        self.sent += 1
        blocked = asyncio.Event()
        self._blocking = asyncio.create_task(self._block(blocked))
        await blocked.wait()
        return Accepted("P-1")

    async def _block(self, blocked: asyncio.Event) -> None:
        other = open_database(self._url)
        async with other.begin() as holder:
            if other.dialect.name == "postgresql":
                await holder.execute(text("LOCK TABLE claims IN ACCESS EXCLUSIVE MODE"))
            blocked.set()
            while not self._may_end():
                await asyncio.sleep(0.01)
        await close_database(other)

    async def let_go(self) -> None:
        assert self._blocking
        await self._blocking


async def test_a_claim_whose_answer_is_still_to_be_written_is_not_sent_again_however_long_that_takes(
    url: str, store: Store, cipher: Cipher, clock: Time
) -> None:
    refused: list[Access] = []

    @contextmanager
    def watch(access: Access) -> Iterator[None]:
        try:
            yield
        except Exception:
            refused.append(access)
            raise

    payer = Blocker(url, lambda: len(refused) > 1)  # alone too: now it rests before it is written again
    given = services(store.watched_by(watch), payer=payer, clock=clock, cipher=cipher)
    [submit] = [handler for handler in all_handlers(given) if handler.type == "submit-claim"]
    job = Job(1, submit.type, "Task_SubmitClaim", 1, 3, {}, {"claimId": "CLM-1-1", "payerId": "p"})
    sending = asyncio.ensure_future(submit.handle(job))
    while not refused:
        await asyncio.sleep(0.01)
    sending.cancel()  # its time limit, in a long outage
    await asyncio.wait([sending])
    await payer.let_go()
    clock.moment += timedelta(hours=1)  # all leases are over
    again = await submit.handle(job)
    assert payer.sent == 1
    assert isinstance(again, Postpone) or again == Complete({"protocolNumber": "P-1"})
    await submit.finish()
    assert await submit.handle(job) == Complete({"protocolNumber": "P-1"})


async def test_an_answer_that_came_is_written_down_when_the_database_takes_it_again(
    url: str, store: Store, cipher: Cipher, clock: Time
) -> None:
    payer = Blocker(url, store.refuses)
    handlers = all_handlers(services(store, payer=payer, clock=clock, cipher=cipher))
    [submit] = [handler for handler in handlers if handler.type == "submit-claim"]
    given = {"claimId": "CLM-1-1", "payerId": "p"}
    for key in (1, 2):
        outcome = await submit.handle(Job(key, submit.type, "Task_SubmitClaim", 1, 3, {}, given))
        assert outcome == Complete({"protocolNumber": "P-1"})
    assert payer.sent == 1
