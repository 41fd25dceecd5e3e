"""Mail that two have a hand in: neither sends what is the other's, and none undoes what the other did."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from domain.mail.attempts import AttemptTerms, MailWaits, may_leave, succeed
from domain.mail.codes import MailFailure, OwnCode
from domain.mail.mail import Mail, MailContent, MailState
from domain.mail.retry import PROFILES
from domain.mail.sending import RenderedMail
from gateways.practice.mail_server import Mailbox
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.mail_stage import MailStage, mail_stage
from tests.support.mails import a_mail
from workers.mail.dead_letters import move_in
from workers.mail.rendering import Renderer
from workers.runtime.outcome import Complete, Postpone

ONE = a_mail().outbox_id
SENT = Complete({"emailStatus": "SENT"})


@dataclass(frozen=True)
class SleepyRenderer:
    """Its worker stands still before the mail leaves, for longer than its lease."""

    stage: MailStage
    renderer: Renderer

    @property
    def recipients(self) -> object:
        return self.renderer.recipients

    def knows(self, template: str) -> bool:
        return self.renderer.knows(template)

    def render(self, mail: Mail, content: MailContent, now: datetime) -> RenderedMail | MailFailure:
        self.stage.clock.pass_by(self.stage.mail.sender.terms.lease)
        return self.renderer.render(mail, content, now)


async def test_a_worker_that_stood_still_does_not_send_what_another_may_be_sending(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(a_mail())
        sleepy = SleepyRenderer(stage, stage.mail.sender.renderer)
        sender = replace(stage.mail.sender, renderer=sleepy)  # type: ignore[arg-type]
        ended = await sender.attempt(ONE)
        assert stage.mailbox.arrived == []
        assert isinstance(ended, MailWaits)
        assert ended.mail.last_failure_code == OwnCode.STOOD_STILL
        assert await stage.send(ONE) == SENT
        assert len(stage.mailbox.arrived) == 1


def test_an_attempt_leaves_only_while_it_is_its_workers_own_and_can_end_in_time() -> None:
    terms = AttemptTerms(PROFILES["03"], timedelta(seconds=30), timedelta(seconds=20))
    begun = a_mail(attempts=1, sending_until=NOW + terms.lease)
    in_time = NOW + timedelta(seconds=10)
    assert may_leave(begun, begun, terms, in_time)
    assert not may_leave(begun, begun, terms, in_time + timedelta(milliseconds=1))
    for other in (
        None,
        replace(begun, attempts=2),
        replace(begun, round=1),
        replace(begun, sending_until=None),
    ):
        assert not may_leave(begun, other, terms, NOW)


@pytest.mark.parametrize("ahead", [timedelta(hours=3), timedelta(days=3650)], ids=["hours", "years"])
async def test_a_lease_from_a_clock_that_was_ahead_does_not_keep_a_mail(
    store: Store, ahead: timedelta
) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(a_mail(attempts=1, sending_until=stage.clock.at + ahead))
        assert await stage.send(ONE) == SENT
        mail = await stage.found(ONE)
        assert (mail.attempts, mail.last_failure_code) == (2, OwnCode.WORKER_LOST)


async def test_a_mail_that_turns_out_to_have_arrived_is_not_moved_to_the_dead_letters(store: Store) -> None:
    failed = a_mail(state=MailState.FAILED, attempts=5, last_failure_reason="why", last_failure_at=NOW)
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(failed)
        async with store.transaction() as tx:
            kept = await tx.mails.lock(ONE)
            assert kept is not None
            moving = asyncio.create_task(move_in(store, NOW))
            await asyncio.wait([moving], timeout=1)
            await tx.mails.save(succeed(kept, "<id>", NOW))
        assert await moving == 0
        assert (await stage.found(ONE)).state is MailState.SENT
        assert await store.look(lambda tx: tx.dead_letters.count()) == 0


async def test_a_mail_whose_time_is_over_while_it_is_being_sent_is_left_to_its_worker(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        late = stage.clock.at - timedelta(minutes=5)
        lease = stage.clock.at + timedelta(seconds=10)
        await stage.add(a_mail(expires_at=late, published_at=late, attempts=1, sending_until=lease))
        assert await stage.run("start-emails") == Complete({"processedCount": 0})
        assert isinstance(await stage.send(ONE), Postpone)
