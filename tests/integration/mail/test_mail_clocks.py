"""A wrong clock: while the engine and the database disagree whether a mail's day is over, it waits."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from domain.mail.mail import MAIL_LIFE, MailState
from domain.mail.sending import MailResult, RenderedMail
from gateways.practice.mail_server import Mailbox, Reply
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.mail_stage import MailStage, MovableClock, mail_stage
from tests.support.mails import CIPHER, CONTENT, a_mail
from tests.support.services import services
from workers.jobs import all_handlers
from workers.runtime import Job
from workers.runtime.outcome import Complete, Outcome, Postpone, Throw
from workers.upkeep.clocks import ClockCheck

MAIL = a_mail(1, published_at=NOW)
OVER = MAIL_LIFE + timedelta(minutes=1)
SENT = Complete({"emailStatus": "SENT"})


async def delivered(stage: MailStage, *, engine: datetime, mail: str = MAIL.outbox_id) -> Outcome:
    """The mail's job, given out by an engine whose clock says so, to a worker with the stage's time."""
    check = ClockCheck({"the database": stage.clock, "this machine": MovableClock(NOW)})
    given = services(stage.store, clock=stage.clock, cipher=CIPHER, mail=stage.mail, clock_check=check)
    [handler] = [one for one in all_handlers(given) if one.type == "send-email"]
    deadline = (engine + handler.lock).timestamp()
    variables: dict[str, Any] = {"outboxId": mail}
    return await handler.handle(Job(1, handler.type, "Task", 1, 3, {}, variables, deadline))


@pytest.mark.parametrize(
    ("ours", "engines"), [(OVER, timedelta()), (timedelta(), OVER)], ids=["ahead", "behind"]
)
async def test_a_mail_is_neither_given_up_nor_sent_late_while_clocks_disagree_about_its_day(
    store: Store, ours: timedelta, engines: timedelta
) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(MAIL)
        stage.clock.pass_by(ours)
        with capture_logs() as logs:
            waits = await delivered(stage, engine=NOW + engines)
        assert isinstance(waits, Postpone)
        assert all(name in waits.message for name in ("the database says", "the engine says"))
        assert [line["log_level"] for line in logs if line["event"] == "mail_not_expired"] == ["warning"]
        found = await stage.found(MAIL.outbox_id)
        assert (found.state, found.attempts, stage.mailbox.arrived) == (MailState.PENDING, 0, [])
        assert await store.look(lambda tx: tx.dead_letters.count()) == 0


async def test_once_clocks_agree_it_is_sent_or_given_up(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(MAIL, a_mail(2, published_at=NOW))
        assert await delivered(stage, engine=NOW) == SENT
        stage.clock.pass_by(OVER)
        late = await delivered(stage, engine=NOW + OVER, mail=a_mail(2).outbox_id)
        assert isinstance(late, Throw)


async def test_clocks_that_are_apart_hold_no_mail_whose_day_they_agree_about(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(MAIL)
        stage.clock.pass_by(timedelta(hours=2))
        assert await delivered(stage, engine=NOW) == SENT


async def test_a_text_that_no_worker_has_is_not_given_up_by_a_wrong_clock(store: Store) -> None:
    content = replace(CONTENT, template="no-such-text")
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(a_mail(3, content=content, published_at=NOW))
        stage.clock.pass_by(timedelta(hours=2))
        waits = await delivered(stage, engine=NOW, mail=a_mail(3).outbox_id)
        assert isinstance(waits, Postpone)
        assert (await stage.found(a_mail(3).outbox_id)).state is MailState.PENDING


async def test_a_clock_that_leaps_while_a_mail_is_sent_does_not_age_it(store: Store) -> None:
    class Leaping:
        """A server that fails while the clock is set a day and more ahead."""

        async def send(self, mail: RenderedMail) -> MailResult:
            stage.clock.pass_by(OVER)
            return await stage.mail.sender.gateway.send(mail)

        async def close(self) -> None:
            return None

    async with mail_stage(store, Mailbox(script=lambda _to, _attempt: Reply("421 not now"))) as stage:
        await stage.add(MAIL)
        sender = replace(stage.mail.sender, gateway=Leaping())
        await sender.attempt(MAIL.outbox_id)
        found = await stage.found(MAIL.outbox_id)
        assert (found.state, found.last_failure_code) == (MailState.PENDING, "421")
        assert found.last_failure_at is not None
        assert found.last_failure_at < later(minutes=1)
