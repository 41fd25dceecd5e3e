"""Mail whose process got lost: started once more when nobody has had it in hand, dead after a day."""

from dataclasses import replace
from datetime import datetime, timedelta

from structlog.testing import capture_logs

from domain.mail.mail import MAIL_LIFE, MailState
from domain.standing import HeldJob, JobPlace, StandingKind
from gateways.practice.mail_server import Mailbox
from gateways.zeebe.refusals import CommandRefusedError
from persistence.repositories.standstills import LatePage
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.mail_stage import MailStage, mail_stage
from tests.support.mails import CIPHER, a_mail, keep_dead
from tests.support.services import services
from workers.jobs import all_handlers
from workers.mail.redrive import bring_back
from workers.runtime.outcome import Complete
from workers.upkeep.clocks import ClockCheck
from workers.upkeep.standing import Nudges

JOB = "start-emails"
ENDED = "PROCESS_ENDED: its process was ended in the engine before it was sent"
HALF_AN_HOUR = timedelta(minutes=30, seconds=1)
HELD_PLACE = JobPlace(1, 2, 7, "Task_SendEmail")
HELD = HeldJob(7, 3, later(minutes=20), HELD_PLACE)


def started(stage: MailStage) -> list[object]:
    return [message.variables["outboxId"] for message in stage.engine.messages]


async def test_mail_that_nobody_has_had_in_hand_for_half_an_hour_is_asked_for_once_more(store: Store) -> None:
    forgotten = a_mail(1, published_at=NOW)
    held, young = a_mail(2, published_at=NOW).in_hands_of(HELD), a_mail(3, published_at=later(minutes=5))
    under_way = a_mail(4, published_at=NOW, attempts=1, sending_until=later(minutes=31))
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(forgotten, held, young, under_way)
        stage.clock.pass_by(HALF_AN_HOUR)
        assert await stage.run(JOB) == Complete({"processedCount": 1})
        assert started(stage) == [forgotten.outbox_id]
        [message] = stage.engine.messages
        assert (message.keep, message.message_id) == (timedelta(), forgotten.start_id)
        assert await stage.run(JOB) == Complete({"processedCount": 0})
        stage.clock.pass_by(HALF_AN_HOUR)
        await stage.run(JOB)
        assert set(started(stage)[1:]) == {one.outbox_id for one in (forgotten, held, young)}


async def test_each_round_has_a_start_of_its_own_and_nothing_of_the_job_before(store: Store) -> None:
    [dead] = await keep_dead(store, [1])
    async with mail_stage(store, Mailbox()) as stage:
        mail = await stage.found(dead)
        await store.run(lambda tx: tx.mails.save(mail.in_hands_of(HELD)))
        assert await bring_back(store, stage.mail.queue, [dead], later(hours=2)) == [dead]
        [message] = stage.engine.messages
        assert message.key == f"{dead}/1"
        page = LatePage(StandingKind.MAIL, later(hours=3))
        assert await store.look(lambda tx: tx.standstills.late(page)) == []


async def test_a_process_that_stands_still_is_pushed_on_when_its_mail_dies_of_age(store: Store) -> None:
    pushed: list[HeldJob] = []

    async def push(job: HeldJob) -> bool:
        pushed.append(job)
        return True

    async with mail_stage(store, Mailbox()) as stage:
        stuck = a_mail(1, published_at=NOW)
        await stage.add(stuck)
        await store.run(lambda tx: tx.mails.set_down(stuck.outbox_id, HELD))
        stage.clock.pass_by(MAIL_LIFE + timedelta(minutes=2))
        given = services(store, clock=stage.clock, cipher=CIPHER, mail=stage.mail, nudges=Nudges(push))
        await replace(stage, handlers=all_handlers(given)).run(JOB)
        assert (await stage.found(stuck.outbox_id)).state is MailState.FAILED
    assert [(job.key, job.place) for job in pushed] == [(HELD.key, HELD.place)]


async def test_a_mail_that_the_engine_never_took_dies_after_its_day_and_is_not_asked_for_for_ever(
    store: Store,
) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        stage.engine.is_away = True
        refused = a_mail(1)
        await stage.add(refused)
        stage.clock.pass_by(MAIL_LIFE + timedelta(minutes=2))
        await stage.run(JOB)
        found = await stage.found(refused.outbox_id)
        assert (found.state, found.last_failure_code) == (MailState.FAILED, "EXPIRED")


async def test_a_mail_whose_process_somebody_ended_is_a_dead_letter_that_says_so(store: Store) -> None:
    asked: list[int] = []

    async def was_ended(instance: int) -> bool:
        asked.append(instance)
        return instance == HELD_PLACE.instance

    cancelled = a_mail(1, published_at=NOW, attempts=1, claim_id="CLM-1-1").in_hands_of(HELD)
    elsewhere = replace(HELD, key=8, place=replace(HELD_PLACE, instance=9))
    lost, unseen = a_mail(2, published_at=NOW).in_hands_of(elsewhere), a_mail(3, published_at=NOW)
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(cancelled, lost, unseen)
        stage.clock.pass_by(timedelta(minutes=20) + HALF_AN_HOUR)
        given = services(store, clock=stage.clock, cipher=CIPHER, mail=stage.mail, process_ended=was_ended)
        assert await replace(stage, handlers=all_handlers(given)).run(JOB) == Complete({"processedCount": 3})
        found = await stage.found(cancelled.outbox_id)
        assert (found.state, found.last_failure_code) == (MailState.FAILED, "PROCESS_ENDED")
        assert {lost.outbox_id, unseen.outbox_id} == set(started(stage)) & {
            a_mail(n).outbox_id for n in (1, 2, 3)
        }
    letter = await store.look(lambda tx: tx.dead_letters.find(cancelled.outbox_id))
    assert letter is not None
    assert letter.last_failure_reason == ENDED
    [line] = await store.look(lambda tx: tx.journal.of_claim("CLM-1-1"))
    assert (line.event, line.detail) == ("mail_dead_lettered", letter.last_failure_reason)
    assert set(asked) == {HELD_PLACE.instance, 9}


async def test_while_the_engine_does_not_say_no_mail_is_held_for_ended(store: Store) -> None:
    async def silent(_instance: int) -> bool:
        raise CommandRefusedError("the engine does not say")

    async with mail_stage(store, Mailbox()) as stage:
        mail = a_mail(1, published_at=NOW).in_hands_of(HELD)
        await stage.add(mail)
        stage.clock.pass_by(timedelta(minutes=20) + HALF_AN_HOUR)
        given = services(store, clock=stage.clock, cipher=CIPHER, mail=stage.mail, process_ended=silent)
        await replace(stage, handlers=all_handlers(given)).run(JOB)
        assert (await stage.found(mail.outbox_id)).state is MailState.PENDING
        assert started(stage) == [mail.outbox_id]


class Apart:
    """A clock that is two days ahead of all others."""

    async def now(self) -> datetime:
        return later(days=2)


async def test_while_clocks_disagree_no_mail_dies_of_age_and_lost_ones_are_started(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        old, lost = a_mail(1, published_at=NOW), a_mail(2)
        await stage.add(old, lost)
        stage.clock.pass_by(MAIL_LIFE + timedelta(minutes=2))
        check = ClockCheck({"the database": stage.clock, "this machine": Apart()})
        given = services(store, clock=stage.clock, cipher=CIPHER, mail=stage.mail, clock_check=check)
        with capture_logs() as logs:
            await replace(stage, handlers=all_handlers(given)).run(JOB)
        assert (await stage.found(old.outbox_id)).state is MailState.PENDING
        assert set(started(stage)) == {old.outbox_id, lost.outbox_id}
    assert "mail_not_expired" in {line["event"] for line in logs}
