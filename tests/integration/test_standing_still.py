"""The watch on both databases: what it finds by the rows of real jobs, and what it asks of the engine."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from bpmn.names import JobType
from domain.claim_state import ClaimState
from domain.errors import Trouble
from domain.mail.mail import MailState, outbox_id
from domain.observations import Observation, StandstillHealed
from domain.payer_status import PayerLimits
from domain.readings import Reading
from domain.standing import NUDGE_AGAIN, HeldJob, JobPlace, Look, StandingKind
from domain.submission import AnswerLost, SendResult, Submission
from persistence.repositories.claims import ClaimRow
from persistence.store import Store
from persistence.tables import standing_still
from tests.support.builders import NOW, draft
from tests.support.mails import a_mail
from tests.support.payer_stage import PAYER, Scene
from tests.support.services import services
from workers.jobs import all_handlers
from workers.runtime import Complete, Job, Outcome, Postpone, Throw
from workers.upkeep.clocks import ClockCheck
from workers.upkeep.standing import Found, Nudges, StandingWatch, standing_gauges

LOCK, LATE = timedelta(minutes=5), timedelta(minutes=11)
STEP = timedelta(minutes=5)
STUCK, OTHER = "CLM-D-1", "CLM-D-2"
HELD = HeldJob(1, 3, NOW + LOCK)


class Killed(BaseException):
    """What ends a worker in the middle of its send."""


@dataclass
class Engine:
    """Hears what the watch asks for."""

    failed: list[HeldJob] = field(default_factory=list)
    woken: list[str] = field(default_factory=list)
    has_job: bool = True
    trouble: Trouble | None = None
    breaks_at: int | None = None
    dies_at: int | None = None

    async def job(self, held: HeldJob) -> bool:
        if self.trouble:
            raise self.trouble
        if held.key == self.breaks_at:
            raise RuntimeError
        if held.key == self.dies_at:
            raise Killed
        self.failed.append(held)
        return self.has_job

    async def wait(self, claim_id: str) -> None:
        self.woken.append(claim_id)


@dataclass
class Hospital(Scene):
    """Claims whose worker may be killed in the middle of a send, and the watch over them."""

    engine: Engine = field(default_factory=Engine)
    seen: list[Observation] = field(default_factory=list)
    kills: bool = False

    async def send(self, submission: Submission, now: datetime) -> SendResult:
        answer = await super().send(submission, now)
        if self.kills:
            raise Killed
        return answer

    async def deliver(self, number: int, job_type: str = "submit-claim", **given: Any) -> Outcome:
        """A job as the engine hands it out: with a lock by the engine's clock."""
        variables = {"claimId": f"CLM-D-{number}", "payerId": PAYER} | given
        deadline = (self.moment + LOCK).timestamp()
        key = variables.pop("key", number)
        job = Job(key, job_type, "Task", number, 3, {}, variables, deadline=deadline)
        return await self.handler(job_type).handle(job)

    async def is_killed_in_a_send(self, number: int = 1) -> None:
        self.kills = True
        with pytest.raises(Killed):
            await self.deliver(number)
        self.kills = False

    async def look(self, after: timedelta) -> int:
        """One run of the watch, so much later."""
        self.moment += after
        nudges = Nudges(self.engine.job, self.engine.wait)
        return await StandingWatch(self.store, nudges, self.seen.append).look(self.moment)

    async def others_move(self, number: int = 2) -> None:
        self.moment += timedelta(seconds=1)
        await self.deliver(number)

    async def story(self, claim: str = STUCK) -> list[str]:
        """What the claim's journal says of the watch."""
        entries = await self.store.look(lambda tx: tx.journal.of_claim(claim))
        return [entry.event for entry in entries if entry.event.startswith("standing")]

    async def row(self, claim: str = STUCK) -> ClaimRow:
        found = await self.store.look(lambda tx: tx.claims.find(claim))
        assert found
        return found


@pytest.fixture
def hospital(store: Store) -> Hospital:
    return Hospital(store, PayerLimits(per_minute=None, needs_proof=False))


async def test_the_job_of_a_send_that_has_begun_is_on_record_with_its_lock_and_retries(
    hospital: Hospital,
) -> None:
    await hospital.is_killed_in_a_send()
    row = await hospital.row()
    assert (row.state, row.job_key, row.job_retries, row.job_until) == (
        ClaimState.SUBMITTING, 1, 3, NOW + LOCK
    )  # fmt: skip


async def test_a_killed_workers_job_is_handed_out_again_by_its_key_at_no_cost_to_its_retries(
    hospital: Hospital,
) -> None:
    await hospital.is_killed_in_a_send()
    assert await hospital.look(LOCK + LATE) == 0
    await hospital.others_move()
    with capture_logs() as logs:
        assert await hospital.look(STEP) == 1
    assert hospital.engine.failed == [HELD]
    assert hospital.engine.woken == []
    told = [line for line in logs if line["event"] in ("claim_stands_still", "standing_nudged")]
    assert [(line["event"], line["claim"], line["job"]) for line in told] == [
        ("claim_stands_still", STUCK, 1), ("standing_nudged", STUCK, 1)
    ]  # fmt: skip
    assert hospital.seen == []
    assert await hospital.story() == ["standing_nudged"]


async def test_healed_is_what_a_later_look_finds_to_have_gone_on(hospital: Hospital) -> None:
    await hospital.is_killed_in_a_send()
    await hospital.look(LOCK + LATE)
    await hospital.others_move()
    await hospital.look(STEP)
    assert isinstance(await hospital.deliver(1), Complete)
    with capture_logs() as logs:
        assert await hospital.look(STEP) == 0
    assert [(line["event"], line["claim"], line["nudges"]) for line in logs] == [
        ("standing_healed", STUCK, 1)
    ]
    assert hospital.seen == [StandstillHealed(StandingKind.JOB)]
    assert await hospital.story() == ["standing_nudged", "standing_healed"]
    await hospital.look(STEP)
    assert len(hospital.seen) == 1


async def test_the_job_that_comes_again_is_sent_once_more_and_no_more(
    hospital: Hospital,
) -> None:
    await hospital.is_killed_in_a_send()
    await hospital.look(LOCK + LATE)
    await hospital.others_move()
    await hospital.look(STEP)
    assert isinstance(await hospital.deliver(1), Complete)
    assert hospital.sent.count(STUCK) == 2  # the first died with its worker, without an answer
    assert (await hospital.row()).state is ClaimState.ACCEPTED
    assert await hospital.look(STEP) == 0
    assert await hospital.store.look(lambda tx: tx.standstills.count()) == dict.fromkeys(StandingKind, 0)


async def test_a_job_handed_out_while_its_worker_still_sends_waits_and_sends_nothing(
    hospital: Hospital,
) -> None:
    await hospital.is_killed_in_a_send()
    hospital.moment += timedelta(seconds=30)  # the engine is told far too early: the send's lease runs
    assert isinstance(await hospital.deliver(1), Postpone)
    assert hospital.sent == [STUCK]


async def test_nothing_is_done_while_nothing_moves_but_it_is_told(hospital: Hospital) -> None:
    await hospital.others_move()
    await hospital.is_killed_in_a_send()
    await hospital.look(LOCK + LATE)
    with capture_logs() as logs:
        assert await hospital.look(STEP) == 0
    assert hospital.engine.failed == []
    assert [(line["event"], line["others_move"]) for line in logs] == [("claim_stands_still", False)]
    read = await standing_gauges(hospital.store)()
    assert Reading("reenvio_standing_still", 1, {"kind": "job"}) in read


async def test_each_is_nudged_once_in_a_while_however_often_the_watch_looks(hospital: Hospital) -> None:
    await hospital.is_killed_in_a_send()
    await hospital.look(LOCK + LATE)
    looks = 2 * (NUDGE_AGAIN // STEP)
    for number in range(looks):
        await hospital.others_move(number + 2)
        await hospital.look(STEP)
    assert hospital.engine.failed == [HELD] * 2


async def waits(hospital: Hospital) -> datetime:
    """The claim waits for its next send; until when."""
    hospital.answer = AnswerLost("TIMEOUT")
    assert isinstance(await hospital.deliver(1), Throw)
    error = {"submissionError": "TIMEOUT", "retryCount": 0}
    assert isinstance(await hospital.deliver(1, "retry-submission-backoff", **error), Complete)
    row = await hospital.row()
    assert (row.state, row.job_key) == (ClaimState.WAITING, 1)
    assert row.next_retry_time
    return row.next_retry_time


async def test_a_wait_past_its_end_is_nudged_and_its_last_job_too(hospital: Hospital) -> None:
    assert await hospital.look(await waits(hospital) - NOW) == 0
    await hospital.look(LATE)
    await hospital.others_move()
    assert await hospital.look(STEP) == 1
    assert hospital.engine.woken == [STUCK]
    assert [job.key for job in hospital.engine.failed] == [1]
    assert await hospital.story() == ["standing_nudged"]


async def test_a_wait_whose_message_found_nobody_is_not_healed(hospital: Hospital) -> None:
    """The engine takes every message, and drops at once what correlates with nothing."""
    await hospital.look(await waits(hospital) - NOW + LATE)
    for number in range(4):
        await hospital.others_move(number + 2)
        await hospital.look(STEP)
    assert hospital.engine.woken == [STUCK]
    assert hospital.seen == []
    assert await hospital.story() == ["standing_nudged"]
    assert (await hospital.store.look(lambda tx: tx.standstills.count()))[StandingKind.WAIT] == 1


async def test_a_wait_that_goes_on_after_its_nudge_is_healed_once(hospital: Hospital) -> None:
    await hospital.look(await waits(hospital) - NOW + LATE)
    await hospital.others_move()
    await hospital.look(STEP)
    await hospital.deliver(1, key=71, retryCount=1)
    await hospital.look(STEP)
    await hospital.look(STEP)
    assert hospital.seen == [StandstillHealed(StandingKind.WAIT)]
    assert await hospital.story() == ["standing_nudged", "standing_healed"]


async def test_a_claim_that_a_person_ends_after_a_nudge_is_not_healed(hospital: Hospital) -> None:
    await hospital.look(await waits(hospital) - NOW + LATE)
    await hospital.others_move()
    await hospital.look(STEP)
    await hospital.store.run(lambda tx: tx.claims.move(STUCK, ClaimState.CANCELLED, now=hospital.moment))
    await hospital.look(STEP)
    assert hospital.seen == []


async def test_what_cannot_be_healed_hides_nobody_and_is_counted_to_the_last(
    hospital: Hospital, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.upkeep.standing.PAGE", 1)
    monkeypatch.setattr("workers.upkeep.standing.MOST", 1)
    hospital.engine.has_job = False
    for number in range(10, 14):
        await hospital.is_killed_in_a_send(number)
    await hospital.look(LOCK + LATE)
    for look in range(4):
        await hospital.others_move(100 + look)
        await hospital.look(STEP)
    assert sorted(job.key for job in hospital.engine.failed) == [*range(10, 14)]
    read = await standing_gauges(hospital.store)()
    assert Reading("reenvio_standing_still", 4, {"kind": "job"}) in read


async def test_a_job_that_the_engine_has_no_more_is_no_nudge(hospital: Hospital) -> None:
    await hospital.is_killed_in_a_send()
    await hospital.look(LOCK + LATE)
    await hospital.others_move()
    hospital.engine.has_job = False
    assert await hospital.look(STEP) == 0
    await hospital.deliver(1)  # by itself
    await hospital.look(STEP)
    assert hospital.seen == []
    assert await hospital.story() == []


async def test_an_engine_that_does_not_answer_is_told_and_asked_again_after_a_while(
    hospital: Hospital,
) -> None:
    await hospital.is_killed_in_a_send()
    await hospital.look(LOCK + LATE)
    await hospital.others_move()
    hospital.engine.trouble = Trouble("away")
    assert await hospital.look(STEP) == 0
    hospital.engine.trouble = None
    await hospital.others_move(3)
    assert await hospital.look(NUDGE_AGAIN) == 1


async def test_one_that_breaks_the_nudge_keeps_nobody_else_standing(hospital: Hospital) -> None:
    for number in range(10, 13):
        await hospital.is_killed_in_a_send(number)
    await hospital.look(LOCK + LATE)
    await hospital.others_move(100)
    hospital.engine.breaks_at = 10
    assert await hospital.look(STEP) == 2


async def test_a_claim_on_an_incident_is_a_persons(hospital: Hospital) -> None:
    await hospital.is_killed_in_a_send()
    job = Job(1, "submit-claim", "Task", 1, 1, {}, {"claimId": STUCK, "payerId": PAYER})
    await hospital.handler("submit-claim").on_incident(job, "stuck")
    await hospital.look(LOCK + LATE)
    await hospital.others_move()
    assert await hospital.look(STEP) == 0
    assert hospital.engine.failed == []


async def test_a_mail_whose_sender_was_killed_is_found_and_handed_out_again(store: Store) -> None:
    hospital = Hospital(store, PayerLimits(per_minute=None, needs_proof=False))
    begun = replace(a_mail(), sending_until=NOW + LOCK, attempts=1).in_hands_of(HELD)
    await store.run(lambda tx: tx.mails.add(begun))
    await hospital.look(LOCK + LATE)
    await hospital.others_move()
    assert await hospital.look(STEP) == 1
    assert hospital.engine.failed == [HELD]
    sent = replace(begun, state=MailState.SENT, sent_at=hospital.moment, sending_until=None)
    await store.run(lambda tx: tx.mails.save(sent))
    await hospital.look(STEP)
    assert hospital.seen == [StandstillHealed(StandingKind.MAIL)]


async def test_a_mail_that_a_limit_set_back_and_the_engine_forgot_is_handed_out_again(store: Store) -> None:
    hospital = Hospital(store, PayerLimits(per_minute=None, needs_proof=False))
    await store.run(lambda tx: tx.mails.add(a_mail().in_hands_of(HELD)))
    await hospital.look(LOCK + LATE)
    await hospital.others_move()
    assert await hospital.look(STEP) == 1
    assert hospital.engine.failed == [replace(HELD, rests=True)]


async def test_a_decision_that_nobody_heard_of_leaves_its_job_with_the_claim(hospital: Hospital) -> None:
    await hospital.deliver(1)
    await hospital.store.run(
        lambda tx: tx.claims.put(OTHER, PAYER, ClaimState.FAILED, now=NOW, process_instance_key=1)
    )
    await hospital.store.record(draft(OTHER, job=replace(HELD, key=77)))
    assert (await hospital.row(OTHER)).job_key == 77
    await hospital.store.record(draft(OTHER, count=1))
    assert (await hospital.row(OTHER)).job_key == 77


class Apart:
    """A clock that is an hour wrong."""

    async def now(self) -> datetime:
        return NOW + timedelta(hours=1)


async def test_while_clocks_disagree_nothing_is_looked_for(hospital: Hospital) -> None:
    await hospital.is_killed_in_a_send()
    check = ClockCheck({"the database": hospital, "this machine": Apart()})
    nudges = Nudges(hospital.engine.job, hospital.engine.wait)
    given = services(hospital.store, clock=hospital, clock_check=check, nudges=nudges)
    [watch] = [one for one in all_handlers(given) if one.type == JobType.HEAL_STANDING]
    with capture_logs() as logs:
        done = await watch.handle(Job(9, JobType.HEAL_STANDING, "Task", 9, 3, {}, {}))
    assert done == Complete({"processedCount": 0})
    assert [line["event"] for line in logs] == ["standing_not_looked_for"]


async def test_kinds_of_a_newer_version_that_ran_before_are_left_alone(
    hospital: Hospital, database: AsyncEngine
) -> None:
    row = {"kind": "newer", "subject": STUCK, "since": NOW, "seen_at": NOW, "confirmed_at": NOW, "nudges": 0}
    async with database.begin() as connection:
        await connection.execute(insert(standing_still).values(row))
    await hospital.is_killed_in_a_send()
    assert await hospital.look(LOCK + LATE) == 0
    await hospital.others_move()
    assert await hospital.look(STEP) == 1
    read = await standing_gauges(hospital.store)()
    assert {one.labels["kind"]: one.value for one in read} == {"wait": 0, "job": 1, "mail": 0}
    async with database.connect() as connection:
        kept = select(standing_still.c.kind).order_by(standing_still.c.kind)
        assert list(await connection.scalars(kept)) == ["job", "newer"]


async def test_a_mail_whose_process_stands_on_an_incident_is_a_persons(store: Store) -> None:
    hospital = Hospital(store, PayerLimits(per_minute=None, needs_proof=False))
    begun = replace(a_mail(), sending_until=NOW + LOCK, attempts=1).in_hands_of(HELD)
    await store.run(lambda tx: tx.mails.add(begun))
    job = Job(1, "send-email", "Task", 1, 1, {}, {"outboxId": begun.outbox_id})
    await hospital.handler("send-email").on_incident(job, "stuck")
    await hospital.look(LOCK + LATE)
    await hospital.others_move()
    assert await hospital.look(STEP) == 0
    assert hospital.engine.failed == []


async def test_a_job_is_on_record_with_its_place_in_its_process(hospital: Hospital) -> None:
    hospital.kills = True
    deadline, variables = (NOW + LOCK).timestamp(), {"claimId": STUCK, "payerId": PAYER}
    job = Job(7, "submit-claim", "Task_Submit", 5, 3, {}, variables, deadline, element_instance_key=6)
    with pytest.raises(Killed):
        await hospital.handler("submit-claim").handle(job)
    hospital.kills = False
    await hospital.look(LOCK + LATE)
    await hospital.others_move()
    await hospital.look(STEP)
    [held] = hospital.engine.failed
    assert held.place == JobPlace(instance=5, element=6, first_key=7, element_id="Task_Submit")


async def test_what_was_nudged_before_a_watch_died_is_on_record(
    hospital: Hospital, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.upkeep.standing.TOGETHER", 1)
    for number in (10, 11):
        await hospital.is_killed_in_a_send(number)
    await hospital.look(LOCK + LATE)
    await hospital.others_move(100)
    hospital.engine.dies_at = 11
    with pytest.raises(Killed):
        await hospital.look(STEP)
    assert await hospital.story("CLM-D-10") == ["standing_nudged"]
    assert await hospital.story("CLM-D-11") == []


async def is_put_off(hospital: Hospital, **changes: Any) -> Job:
    """A redelivery while a send may be under way, as the runtime tells of it before it tells the engine."""
    variables = {"claimId": STUCK, "payerId": PAYER}
    deadline = (hospital.moment + LOCK).timestamp()
    job = Job(1, "submit-claim", "Task", 1, 3, {}, variables, deadline, element_instance_key=6)
    await hospital.handler("submit-claim").on_backoff(replace(job, **changes), LOCK)
    return job


async def nudged_jobs(hospital: Hospital) -> list[HeldJob]:
    """The jobs that the watch asks for once they are late at two looks."""
    await hospital.look(2 * LOCK + LATE)
    await hospital.others_move()
    await hospital.look(STEP)
    return hospital.engine.failed


async def test_a_job_that_is_put_off_is_on_record_until_it_is_handed_out_again(hospital: Hospital) -> None:
    await hospital.is_killed_in_a_send()
    hospital.moment += timedelta(seconds=30)
    await is_put_off(hospital)
    until = (await hospital.row()).job_until
    assert until == hospital.moment + LOCK
    place = JobPlace(instance=1, element=6, first_key=1, element_id="Task")
    assert await nudged_jobs(hospital) == [HeldJob(1, 3, until, place, rests=True)]


async def test_a_job_that_came_again_and_wrote_rests_no_more(hospital: Hospital) -> None:
    await hospital.is_killed_in_a_send()
    await is_put_off(hospital)
    hospital.moment += timedelta(minutes=30)
    await hospital.is_killed_in_a_send()
    [held] = await nudged_jobs(hospital)
    assert (held.key, held.rests) == (1, False)


@pytest.mark.parametrize("changes", [{"process_instance_key": 9}, {"key": 0}])
async def test_the_backoff_of_another_process_or_of_an_earlier_job_is_not_the_claims(
    hospital: Hospital, changes: dict[str, int]
) -> None:
    await hospital.is_killed_in_a_send()
    await is_put_off(hospital, **changes)
    [held] = await nudged_jobs(hospital)
    assert (held.key, held.rests) == (1, False)


async def test_a_backoff_of_a_claim_on_an_incident_is_not_noted(hospital: Hospital) -> None:
    await hospital.is_killed_in_a_send()
    job = Job(1, "submit-claim", "Task", 1, 1, {}, {"claimId": STUCK, "payerId": PAYER})
    await hospital.handler("submit-claim").on_incident(job, "stuck")
    await is_put_off(hospital)
    assert (await hospital.row()).job_until == NOW + LOCK


async def test_a_mails_wait_is_on_record_with_its_attempt_and_one_that_is_being_sent_is_not_resting(
    store: Store,
) -> None:
    hospital = Hospital(store, PayerLimits(per_minute=None, needs_proof=False))
    begun = replace(a_mail(), attempts=1).in_hands_of(HELD)
    sending = replace(begun, outbox_id=outbox_id("sending"), sending_until=NOW + LOCK, job_key=2)
    waiting = replace(begun, last_failure_at=NOW)
    await store.run(lambda tx: tx.mails.add(sending))
    await store.run(lambda tx: tx.mails.add(waiting))
    held = {job.key: job.rests for job in await nudged_jobs(hospital)}
    assert held == {1: True, 2: False}


async def test_two_watches_at_the_same_moment_nudge_each_claim_once(hospital: Hospital) -> None:
    """Both have looked before either nudges."""
    for number in (10, 11):
        await hospital.is_killed_in_a_send(number)
    await hospital.look(LOCK + LATE)
    await hospital.others_move(100)
    hospital.moment += STEP
    both = asyncio.Barrier(2)

    class Watch(StandingWatch):
        async def _due(self, look: Look) -> Sequence[Found]:
            due = await super()._due(look)
            await both.wait()
            return due

    nudges = Nudges(hospital.engine.job, hospital.engine.wait)
    watches = [Watch(hospital.store, nudges) for _ in range(2)]
    async with asyncio.timeout(60):
        taken = await asyncio.gather(*(watch.look(hospital.moment) for watch in watches))
    assert sum(taken) == 2
    assert sorted(job.key for job in hospital.engine.failed) == [10, 11]
    assert await hospital.story("CLM-D-10") == ["standing_nudged"]
