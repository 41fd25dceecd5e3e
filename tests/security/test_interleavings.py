"""Two processes with one claim, late workers and sleeping ones, cancellations and reviews, in chance orders.

The handlers, the database, the gateway with its fence and the messages of people are the real ones. The
engine is played: it moves each instance along SUB_06, gives a job out again when its lock is over, and keeps
messages for whoever waits next. The payer is played too (`ledger_payer`): one of two is asked to cancel what
it may have before a batch is sent again.
"""

import asyncio
import shutil
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast, get_args

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bpmn.names import ErrorCode
from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.refusals import ClaimRefusal
from domain.reviews import ReviewDecision
from domain.submission import Accepted, SendResult
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.messages import ProcessMessage
from persistence.database.engine import close_database, open_database, sqlite_url
from persistence.migrations import migrate
from persistence.repositories.claims import ClaimRow
from persistence.store import Store
from tests.security.ledger_payer import ArrivedRequest, LedgerPayer, Place
from tests.security.two_processes import (
    CLAIM,
    CLOSE,
    DECIDE,
    FIRST,
    PAYER,
    QUICK,
    REVIEW,
    SECOND,
    SEND,
    Desk,
)
from workers.claims.messages import ClaimMessages
from workers.payers.limits import LimitsByPayer
from workers.payers.orders import Orders
from workers.payers.waking import Waker
from workers.runtime import Complete, Fail, Incident, Job, Outcome, Throw

Seen = TypeVar("Seen")
LOCK = timedelta(minutes=6)
"""Longer than the lock of any job, and than any send counts as under way."""
FATES = ("accept", "lose", "fail", "refuse")
which = st.integers(0, 9)


@dataclass
class Instance:
    """A process instance on its way through SUB_06: its job, or what it waits for."""

    key: int
    job: Job | None = None
    waits_for: str | None = None
    retry_count: int = 0
    round: int = 0
    given_out_at: datetime | None = None
    stuck: bool = False

    def awaits(self, what: str) -> None:
        self.job, self.waits_for = None, what


@dataclass
class Delivery:
    """A job in the hands of a worker that waits for the payer, or is asleep on the way to it."""

    instance: Instance
    job: Job
    task: asyncio.Task[Outcome]
    request: ArrivedRequest | None = None
    asleep: asyncio.Event | None = None


@dataclass
class Mailbox:
    """The engine's messages; nobody says when they reach whom."""

    kept: list[ProcessMessage] = field(default_factory=list)

    async def publish(self, message: ProcessMessage) -> bool:
        self.kept.append(message)
        return True


class TwoProcesses(RuleBasedStateMachine):
    """The engine, the payer, people and time, one step after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.runner = asyncio.Runner()
        file = Path(self.folder.name) / "test.db"
        shutil.copy(migrated(self.runner), file)
        self.database = open_database(sqlite_url(file))
        self.payer, self.mailbox = LedgerPayer(), Mailbox()
        self.desk = Desk(Store(self.database), payer=self.payer)
        self.payer.behind_a_fence(self.desk.store, self.desk)
        self.people = ClaimMessages(self.desk.store, cast("ZeebeCommands", self.mailbox))
        self.deliveries: list[Delivery] = []
        self.heard: list[str] = []
        self.last: ClaimState | None = None
        self.instances = [self._started(FIRST)]

    def teardown(self) -> None:
        for delivery in self.deliveries:
            delivery.task.cancel()
        self._run(close_database(self.database))
        self.runner.close()
        self.folder.cleanup()

    @initialize(cancels=st.booleans())
    def the_payer_is_chosen(self, cancels: bool) -> None:
        """Some are asked to cancel a batch whose answer was lost before it is sent again."""
        self.payer.cancels = cancels

    # the engine

    @precondition(lambda self: len(self.instances) == 1)
    @rule()
    def a_second_process_starts(self) -> None:
        self.instances.append(self._started(SECOND))
        self._work(self.instances[-1])

    @precondition(lambda self: self._deliverable())
    @rule(number=which)
    def jobs_are_done(self, number: int) -> None:
        """Given out for the first time, or again when their lock is over, until the process waits."""
        self._work(_pick(self._deliverable(), number))

    @precondition(lambda self: self._stuck())
    @rule(number=which)
    def somebody_retries_an_incident(self, number: int) -> None:
        _pick(self._stuck(), number).stuck = False

    @precondition(lambda self: self._on_timer() and self._payer_rests())
    @rule(number=which)
    def a_timer_fires(self, number: int) -> None:
        self._wakes_by_timer(_pick(self._on_timer(), number))

    def _wakes_by_timer(self, instance: Instance) -> None:
        assert instance.waits_for
        self.desk.moment = max(self.desk.moment, datetime.fromisoformat(instance.waits_for))
        self._submits(instance)
        self._work(instance)

    @precondition(lambda self: self.mailbox.kept and self._waiting())
    @rule(message=which, number=which)
    def a_message_reaches_whoever_waits(self, message: int, number: int) -> None:
        instance, sent = _pick(self._waiting(), number), _pick(self.mailbox.kept, message)
        self.mailbox.kept.remove(sent)
        if sent.name == "claim-cancelled":
            self._is_cancelled(instance, sent.variables["cancelledWait"])
        elif instance.waits_for == f"review-{sent.variables['decidedRound']}":
            self._is_decided(instance, sent.variables["reviewDecision"])
        else:
            self.mailbox.kept.append(sent)
        self._work(instance)

    @precondition(lambda self: len(self.instances) == 2 and FIRST not in self.desk.gone)
    @rule()
    def somebody_ends_the_first_process_in_operate(self) -> None:
        self.desk.gone.add(FIRST)
        self.instances[0].awaits("nothing")

    @precondition(lambda self: self.deliveries and self._payer_rests())
    @rule()
    def locks_end(self) -> None:
        """No send lasts so long: what the payer has not answered by now is answered."""
        self.desk.moment += LOCK

    # the payer

    @precondition(lambda self: not self._payer_rests())
    @rule(number=which, fate=st.sampled_from(FATES))
    def the_payer_works_on_a_request(self, number: int, fate: str) -> None:
        open_ = [request for request in self.payer.open if request.answer is None]
        self.payer.work_on(_pick(open_, number), fate)

    @precondition(lambda self: not self._payer_rests())
    @rule(fate=st.sampled_from(FATES))
    def the_payer_answers_and_is_heard(self, fate: str) -> None:
        waiting = [delivery for delivery in self.deliveries if delivery.request]
        newest = [delivery for delivery in waiting if not _answer_to(delivery)][-1]
        assert newest.request
        self.payer.work_on(newest.request, fate)
        self._hear(newest)

    @precondition(lambda self: self._answered())
    @rule(number=which)
    def a_worker_hears_an_answer_late(self, number: int) -> None:
        """Perhaps long after another has done its job."""
        self._hear(_pick(self._answered(), number))

    @precondition(lambda self: self._on_timer() and self._payer_rests())
    @rule(number=which, place=st.sampled_from(get_args(Place)), fate=st.sampled_from(FATES))
    def a_worker_sleeps_longer_than_its_lock(self, number: int, place: Place, fate: str) -> None:
        """Before its request, or a cancellation even behind the fence; another gets its job."""
        instance = _pick(self._on_timer(), number)
        self.payer.falls_asleep = place
        self._wakes_by_timer(instance)
        if instance in [delivery.instance for delivery in self._asleep()]:
            self.desk.moment += LOCK
            self._work(instance)
        if not self._payer_rests():
            self.the_payer_answers_and_is_heard(fate)

    @precondition(lambda self: self._asleep())
    @rule(number=which)
    def a_worker_wakes_up(self, number: int) -> None:
        """Perhaps long after everything that was its own is over."""
        delivery = _pick(self._asleep(), number)
        before, sends = self._state(), self.desk.sends
        self.deliveries.remove(delivery)
        self._run(self._awakened(delivery))
        self._is_under_way(delivery.instance, delivery.job, delivery.task, sends)
        assert self.desk.sends == sends or not (before and before.is_final), f"a {before} claim was sent"
        self._work(delivery.instance)

    async def _awakened(self, delivery: Delivery) -> None:
        assert delivery.asleep
        self.payer.asleep.remove(delivery.asleep)
        self.payer.arrived.clear()
        delivery.asleep.set()
        await self.desk.until_arrived(delivery.task)

    def _hear(self, delivery: Delivery) -> None:
        self.deliveries.remove(delivery)
        answer = _answer_to(delivery)
        assert delivery.request
        assert answer
        self.payer.answer(delivery.request.number, answer)
        self._goes_on(delivery.instance, delivery.job, self._run(_of(delivery.task)))
        if isinstance(answer, Accepted):
            self.heard.append(answer.protocol_number)
        self._work(delivery.instance)

    # people

    @precondition(lambda self: self.last in (ClaimState.WAITING, ClaimState.IN_REVIEW))
    @rule()
    def somebody_cancels(self) -> None:
        self._asks(self.people.cancel(ClaimId(CLAIM)))

    @precondition(lambda self: self.last is ClaimState.IN_REVIEW)
    @rule(decision=st.sampled_from([ReviewDecision.RESEND, ReviewDecision.WRITE_OFF]))
    def somebody_decides_the_review(self, decision: ReviewDecision) -> None:
        self._asks(self.people.decide_review(ClaimId(CLAIM), decision))

    @precondition(lambda self: self.payer.requests)
    @rule(holds=st.booleans())
    def somebody_holds_the_payer_or_lets_it_go(self, holds: bool) -> None:
        limits = LimitsByPayer({}, QUICK)
        orders = Orders(self.desk.store, limits, Waker(self.desk.store, limits))
        paused = orders.pause(PAYER, self.desk.moment, reason="a test")
        order = paused if holds else orders.resume(PAYER, self.desk.moment)
        if holds is False:
            paused.close()
        self._run(order)

    # what must hold

    @invariant()
    def all_holds(self) -> None:
        """The claim is read once a step for all of it."""
        row = self._row()
        self._no_batch_is_taken_twice()
        self._no_end_is_left_but_by_a_review_or_an_acceptance(row.state if row else None)
        self._no_acceptance_is_lost(row)
        self._what_is_accepted_stands_at_the_payer(row)
        self._nothing_fails_that_is_nobodys_fault()

    def _no_batch_is_taken_twice(self) -> None:
        assert len(self.payer.ledger) <= 1

    def _no_end_is_left_but_by_a_review_or_an_acceptance(self, state: ClaimState | None) -> None:
        if self.last in (ClaimState.CANCELLED, ClaimState.WRITTEN_OFF):
            assert state in (self.last, ClaimState.ACCEPTED)
        if self.last is ClaimState.ACCEPTED:
            assert state in (ClaimState.ACCEPTED, ClaimState.IN_REVIEW)
        self.last = state

    def _no_acceptance_is_lost(self, row: ClaimRow | None) -> None:
        """But for what the payer has cancelled since."""
        standing = [protocol for protocol in self.heard if protocol in self.payer.ledger]
        assert not standing or (row and row.protocol_number == standing[0])

    def _what_is_accepted_stands_at_the_payer(self, row: ClaimRow | None) -> None:
        assert not (row and row.state is ClaimState.ACCEPTED) or row.protocol_number in self.payer.ledger

    def _nothing_fails_that_is_nobodys_fault(self) -> None:
        assert not [instance for instance in self.instances if instance.waits_for == "a technical failure"]

    # how it is played

    def _started(self, key: int) -> Instance:
        instance = Instance(key)
        self._submits(instance)
        return instance

    def _work(self, instance: Instance) -> None:
        """Do the instance's jobs until it waits: for the payer, for time, for people."""
        while instance in self._deliverable():
            assert instance.job
            job, instance.given_out_at = instance.job, self.desk.moment
            self._deliver(instance, job)
            if instance.job is job and instance.given_out_at is None:
                return  # postponed

    def _deliver(self, instance: Instance, job: Job) -> None:
        before, sends = self._state(), self.desk.sends
        task = self._run(self.desk.until_sent(job))
        self._is_under_way(instance, job, task, sends)
        assert self.desk.sends == sends or before is None or not before.is_final, f"a {before} claim was sent"

    def _is_under_way(self, instance: Instance, job: Job, task: asyncio.Task[Outcome], sends: int) -> None:
        """At the payer, or asleep on the way to it; or the job is done."""
        if task.done():
            self._goes_on(instance, job, task.result())
        elif self.desk.sends > sends:
            self.deliveries.append(Delivery(instance, job, task, request=self.payer.open[-1]))
        else:
            self.deliveries.append(Delivery(instance, job, task, asleep=self.payer.asleep[-1]))

    def _goes_on(self, instance: Instance, job: Job, outcome: Outcome) -> None:
        """What the engine makes of an outcome; of a job that it has not any more, nothing."""
        if instance.job is not job:
            return
        instance.given_out_at = None
        match outcome:
            case Incident():
                instance.stuck = True
            case Fail():
                instance.awaits("a technical failure")
            case Throw():
                self._threw(instance, outcome)
            case Complete(variables):
                self._completed(instance, job, variables)

    def _threw(self, instance: Instance, error: Throw) -> None:
        match error:
            case Throw(ErrorCode.SUBMISSION_FAILED, _, variables):
                given = {"retryCount": instance.retry_count} | variables
                instance.job = self.desk.job(DECIDE, instance.key, **given)
            case Throw(ErrorCode.PAYER_UNAVAILABLE, _, variables):
                instance.awaits(variables["resumeAt"])
            case Throw(code):
                self._is_reviewed(instance, code)

    def _completed(self, instance: Instance, job: Job, variables: dict[str, Any]) -> None:
        if job.type == SEND and variables["protocolNumber"] is None:
            self._is_reviewed(instance, "PROTOCOL_MISSING")
        elif job.type == DECIDE:
            instance.retry_count = variables["retryCount"]
            instance.awaits(variables["nextRetryTime"])
        else:
            instance.awaits(f"review-{instance.round}" if job.type == REVIEW else "nothing")

    def _submits(self, instance: Instance) -> None:
        given: dict[str, Any] = {"retryCount": instance.retry_count, "reviewRound": instance.round}
        instance.job, instance.waits_for = self.desk.job(SEND, instance.key, **given), None

    def _is_reviewed(self, instance: Instance, reason: str) -> None:
        given: dict[str, Any] = {"reviewReason": reason, "reviewRound": instance.round}
        instance.job = self.desk.job(REVIEW, instance.key, **given)

    def _is_cancelled(self, instance: Instance, wait: str | None) -> None:
        if wait in (None, instance.waits_for):
            instance.job = self.desk.job(CLOSE, instance.key, outcome="CANCELLED")
            instance.waits_for = None

    def _is_decided(self, instance: Instance, decision: str) -> None:
        if decision == ReviewDecision.RESEND:
            instance.round, instance.retry_count = instance.round + 1, 0
            self._submits(instance)
        else:
            instance.job = self.desk.job(CLOSE, instance.key, outcome="WRITTEN_OFF")
            instance.waits_for = None

    def _asks(self, wish: Coroutine[Any, Any, None]) -> None:
        with suppress(ClaimRefusal):
            self._run(wish)

    def _deliverable(self) -> list[Instance]:
        over = self.desk.moment - LOCK
        free = [i for i in self.instances if i.job and not i.stuck]
        return [i for i in free if i.given_out_at is None or i.given_out_at <= over]

    def _stuck(self) -> list[Instance]:
        return [instance for instance in self.instances if instance.stuck]

    def _waiting(self) -> list[Instance]:
        return [instance for instance in self.instances if instance.waits_for not in (None, "nothing")]

    def _on_timer(self) -> list[Instance]:
        return [i for i in self._waiting() if i.waits_for and not i.waits_for.startswith("review")]

    def _payer_rests(self) -> bool:
        return all(request.answer for request in self.payer.open)

    def _answered(self) -> list[Delivery]:
        return [delivery for delivery in self.deliveries if _answer_to(delivery)]

    def _asleep(self) -> list[Delivery]:
        return [delivery for delivery in self.deliveries if delivery.asleep]

    def _state(self) -> ClaimState | None:
        row = self._row()
        return row.state if row else None

    def _row(self) -> ClaimRow | None:
        return self._run(self.desk.store.look(lambda tx: tx.claims.find(CLAIM)))

    def _run(self, work: Coroutine[Any, Any, Seen]) -> Seen:
        return self.runner.run(work)


def _answer_to(delivery: Delivery) -> SendResult | None:
    return delivery.request.answer if delivery.request else None


async def _of(task: asyncio.Task[Seen]) -> Seen:
    return await task


def _pick(among: list[Seen], number: int) -> Seen:
    return among[number % len(among)]


_template: list[tuple[TemporaryDirectory[str], Path]] = []


def migrated(runner: asyncio.Runner) -> Path:
    """A migrated database to copy."""
    if not _template:
        folder = TemporaryDirectory()
        file = Path(folder.name) / "template.db"

        async def create() -> None:
            database = open_database(sqlite_url(file))
            await migrate(database)
            await close_database(database)

        runner.run(create())
        _template.append((folder, file))
    return _template[0][1]


TwoProcesses.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
TestTwoProcesses = pytest.mark.timeout(900)(TwoProcesses.TestCase)
"""Half a minute of work, and minutes where every core has several to do."""
