"""All hands on the same dead letters at once: none is lost, none is sent twice, and there is never one more
than there may be."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.mail.mail import MailState
from domain.mail.redrive import RedriveTerms
from gateways.practice.mail_server import Mailbox, MailStep, Reply
from persistence.repositories.dead_letters import WantedLetters
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.mail_stage import MailStage, mail_stage
from tests.support.mails import a_dead_letter, a_mail, keep_dead
from workers.mail.dead_letters import move_in
from workers.mail.redrive import Redrive, bring_back
from workers.runtime.outcome import Postpone
from workers.upkeep.dead_letters import expire_letters, purge_letters

AT_MOST = 5
WEEK = timedelta(days=8)


async def test_there_is_never_one_more_than_there_may_be(database: AsyncEngine) -> None:
    stores = [Store(database) for _ in range(20)]  # as so many processes

    async def add(store: Store, number: int) -> bool:
        letter = a_dead_letter(number)
        return await store.run(lambda tx: tx.dead_letters.add(letter, at_most=AT_MOST))

    taken = await asyncio.gather(*(add(store, number) for number, store in enumerate(stores)))
    assert taken.count(True) == AT_MOST
    assert await stores[0].look(lambda tx: tx.dead_letters.count()) == AT_MOST


def some_fail(address: str, attempt: int) -> MailStep:
    """Every fifth has no mailbox; every third is busy once."""
    digits = "".join(filter(str.isdigit, address))
    number = int(digits) if digits else 1
    if number % 5 == 0:
        return Reply("550 5.1.1 no such mailbox")
    return Reply("421 4.3.2 later") if number % 3 == 0 and attempt == 1 else None


class Hands:
    """Somebody's redrive, while jobs of all mails are delivered to several workers at once."""

    def __init__(self, stage: MailStage) -> None:
        self.stage = stage

    async def deliver(self, _seconds: float) -> None:
        messages = [str(message.variables["outboxId"]) for message in self.stage.engine.messages]
        outcomes = await asyncio.gather(*(self.stage.send(one) for one in messages[-60:]))
        if any(isinstance(one, Postpone) for one in outcomes):
            self.stage.clock.pass_by(timedelta(milliseconds=200))

    async def redrive(self) -> None:
        terms = RedriveTerms(first=8, per_minute=6_000, stop_percent=100, patience=timedelta(seconds=5))
        wanted = await self.stage.store.look(lambda tx: tx.dead_letters.to_redrive())
        given = self.stage.store, self.stage.mail.queue, self.stage.clock, self.deliver
        await Redrive(*given, terms).run(wanted)


async def test_redrives_expiry_purge_and_workers_at_once_lose_nothing_and_double_nothing(
    store: Store,
) -> None:
    await keep_dead(store, range(1, 16), moved_at=NOW - WEEK)
    await keep_dead(store, range(16, 26))
    await keep_dead(store, range(26, 36), company_id="company-2")
    async with mail_stage(store, Mailbox(script=some_fail)) as stage:
        hands = Hands(stage)
        of_two = WantedLetters(company_id="company-2")
        async with asyncio.timeout(120):
            await asyncio.gather(
                hands.redrive(),
                expire_letters(store, NOW),
                hands.redrive(),
                purge_letters(store, of_two, lambda _number: None),
                move_in(store, NOW),
            )
            await hands.deliver(0)
        await prove(stage, range(1, 36))


async def prove(stage: MailStage, numbers: range) -> None:
    """Each has arrived once, or is dead and knows why; no letter is on its way without its mail."""
    copies = Counter(one.message_id for one in stage.mailbox.arrived if one.to[0].startswith("number-"))
    assert set(copies.values()) <= {1}
    async with stage.store.reading() as tx:
        for number in numbers:
            mail, letter = (
                await tx.mails.find(a_mail(number).outbox_id),
                await tx.dead_letters.find(a_mail(number).outbox_id),
            )
            assert mail is not None
            arrived = copies[f"<{mail.outbox_id}@hospital.example>"]
            assert (mail.state is MailState.SENT) == (arrived == 1)
            assert letter is None or mail.state is not MailState.SENT
            assert letter is None or (letter.redriven_at is None) == (mail.state is MailState.FAILED)


async def test_two_who_bring_the_same_letters_back_bring_each_back_once(store: Store) -> None:
    ids = await keep_dead(store, range(20))
    async with mail_stage(store, Mailbox()) as stage:
        queue = stage.mail.queue
        first, second, gone = await asyncio.gather(
            bring_back(store, queue, ids, NOW),
            bring_back(store, queue, list(reversed(ids)), NOW),
            purge_letters(store, WantedLetters(), lambda _number: None),
        )
        assert len(first) + len(second) + gone >= 20
        assert not set(first) & set(second)
        mails = await store.look(lambda tx: tx.mails.states(ids))
        left = await store.look(lambda tx: tx.dead_letters.count())
    pending = [one for one, state in mails.items() if state is MailState.PENDING]
    assert sorted(pending) == sorted([*first, *second])
    assert left + gone == 20


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
async def test_a_letter_that_expires_while_it_is_brought_back_is_not_lost(store: Store) -> None:
    [one] = await keep_dead(store, [1], moved_at=NOW - WEEK)
    async with mail_stage(store, Mailbox(script=lambda *_: Reply("554 no"))) as stage:
        await asyncio.gather(bring_back(store, stage.mail.queue, [one], NOW), expire_letters(store, NOW))
        mail = await stage.found(one)
        if mail.state is MailState.PENDING:
            await stage.send(one)
            assert await store.look(lambda tx: tx.dead_letters.find(one)) is not None
