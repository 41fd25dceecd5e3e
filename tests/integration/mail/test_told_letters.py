"""Those who watch are told of every dead letter that comes to lie there, once."""

from dataclasses import replace

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.mail.mail import MailState
from domain.observations import LetterMovedIn, MailAttempted, Observation
from gateways.practice.mail_server import Mailbox, Reply
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.mail_stage import mail_stage
from tests.support.mails import a_mail, fill_dead_letters, keep_dead
from workers.upkeep.dead_letters import expire_letters

GONE = Reply("550 5.1.1 no such mailbox")


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_mail_that_moves_in_later_is_told_of_when_it_does(store: Store, database: AsyncEngine) -> None:
    told: list[Observation] = []
    await fill_dead_letters(database)
    died = {"last_failure_reason": "SMTP 421: not now", "last_failure_code": "421", "last_failure_at": NOW}
    await store.run(lambda tx: tx.mails.add(a_mail(1, state=MailState.FAILED, attempts=5, **died)))
    await expire_letters(store, NOW, told.append)
    await expire_letters(store, later(hours=1), told.append)
    await expire_letters(store, later(hours=2), told.append)
    assert told == [LetterMovedIn("company-1", "421")]


@pytest.mark.parametrize("by_upkeep", [True, False])
async def test_a_mail_whose_time_is_over_is_told_of_without_an_attempt(store: Store, by_upkeep: bool) -> None:
    told: list[Observation] = []
    old = a_mail(1, enqueued_at=later(days=-2), published_at=later(days=-2))
    async with mail_stage(store, Mailbox()) as stage:
        sender = replace(stage.mail.sender, observe=told.append)
        await stage.add(old)
        await (sender.let_expire(NOW) if by_upkeep else sender.attempt(old.outbox_id))
        [one] = [one for one in told if isinstance(one, MailAttempted)]
    assert (one.fate, one.code, one.is_made, one.seconds) == ("died", "EXPIRED", False, None)
    assert stage.mailbox.arrived == []


async def test_a_letter_that_was_sent_again_in_vain_is_no_new_one(store: Store) -> None:
    told: list[Observation] = []
    [before] = await keep_dead(store, [1])
    async with mail_stage(store, Mailbox(script=lambda _address, _attempt: GONE)) as stage:
        sender = replace(stage.mail.sender, observe=told.append)
        again = await stage.found(before)
        pending = replace(again, state=MailState.PENDING, attempts=0, round=1)
        await store.run(lambda tx: tx.mails.save(pending))
        await stage.add(a_mail(2))
        for outbox_id in (before, a_mail(2).outbox_id):
            await sender.attempt(outbox_id)
    attempts = [one for one in told if isinstance(one, MailAttempted)]
    assert [(one.fate, one.code, one.is_new_letter) for one in attempts] == [
        ("died", "550", False),
        ("died", "550", True),
    ]
