"""The automatic redrive: off unless a code has a cool-down; then by waves, until they fail again."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncEngine

from gateways.practice.mail_server import Mailbox, Reply
from persistence.store import Store
from persistence.tables import mails
from tests.support.mail_stage import MailStage, mail_stage
from tests.support.mails import CIPHER, a_mail, keep_dead
from tests.support.services import services
from workers.jobs.redrive import redrive_dead_letters
from workers.mail.redrive import bring_back
from workers.runtime import Job
from workers.runtime.outcome import Complete, Postpone
from workers.upkeep.dead_letters import expire_letters

HALF_AN_HOUR = {"421": timedelta(minutes=30)}
OVER = {"processedCount": 0, "redriveGoesOn": False}


class Cycle:
    """One process of MAINTENANCE_REDRIVE: it carries the variables from step to step, a minute apart."""

    def __init__(self, stage: MailStage, cool_downs: Mapping[str, timedelta]) -> None:
        self.stage = stage
        mail = replace(stage.mail, cool_downs=cool_downs)
        given = services(stage.store, clock=stage.clock, cipher=CIPHER, mail=mail)
        self.handler = redrive_dead_letters(given)
        self.variables: dict[str, Any] = {}
        self.delivered = 0

    async def step(self) -> dict[str, Any]:
        known = {name: self.variables.get(name) for name in self.handler.variables if name in self.variables}
        outcome = await self.handler.handle(Job(1, self.handler.type, "Task", 1, 3, {}, known))
        assert isinstance(outcome, Complete)
        self.variables |= outcome.variables
        return dict(outcome.variables)

    async def to_its_end(self) -> list[int]:
        """Let it run; the sizes of its waves."""
        sizes = []
        while (told := await self.step())["redriveGoesOn"]:
            sizes.append(told["redriveSize"])
            await self.deliver()
            self.stage.clock.pass_by(timedelta(minutes=1))
        return sizes

    async def deliver(self) -> None:
        messages = self.stage.engine.messages
        for message in messages[self.delivered :]:
            while isinstance(done := await self.stage.send(str(message.variables["outboxId"])), Postpone):
                self.stage.clock.pass_by(done.backoff)
        self.delivered = len(messages)


async def test_without_a_cool_down_nothing_is_sent_again(store: Store) -> None:
    await keep_dead(store, range(3))
    async with mail_stage(store, Mailbox()) as stage:
        stage.clock.pass_by(timedelta(days=1))
        assert await Cycle(stage, {}).step() == OVER
        assert await stage.run("redrive-dead-letters") == Complete(OVER)
        assert stage.engine.messages == []


async def test_after_its_codes_cool_down_a_letter_goes_and_not_before(store: Store) -> None:
    await keep_dead(store, range(12))
    await keep_dead(store, [20], last_failure_code="550")
    async with mail_stage(store, Mailbox()) as stage:
        stage.clock.pass_by(timedelta(minutes=29))
        assert await Cycle(stage, HALF_AN_HOUR).step() == OVER
        stage.clock.pass_by(timedelta(minutes=2))
        assert await Cycle(stage, HALF_AN_HOUR).to_its_end() == [5, 7]
        [left] = await store.look(lambda tx: tx.dead_letters.list())
        assert left.outbox_id == a_mail(20).outbox_id
        assert len({one.message_id for one in stage.mailbox.arrived}) == len(stage.mailbox.arrived) == 12


async def test_when_they_fail_again_it_stops_and_they_cool_down_again(store: Store) -> None:
    await keep_dead(store, range(12))
    mailbox = Mailbox(script=lambda to, _attempt: Reply("421 no") if to.startswith("number-") else None)
    async with mail_stage(store, mailbox) as stage:
        stage.clock.pass_by(timedelta(minutes=31))
        assert await Cycle(stage, HALF_AN_HOUR).to_its_end() == [5]
        assert await store.look(lambda tx: tx.dead_letters.count()) == 12
        mailbox.script = lambda _to, _attempt: None
        again = Cycle(stage, HALF_AN_HOUR)
        again.delivered = len(stage.engine.messages)
        assert await again.to_its_end() == [5, 2]
        assert await store.look(lambda tx: tx.dead_letters.count()) == 5


async def test_a_wave_that_is_under_way_is_waited_for(store: Store) -> None:
    await keep_dead(store, range(12))
    async with mail_stage(store, Mailbox()) as stage:
        stage.clock.pass_by(timedelta(minutes=31))
        cycle = Cycle(stage, HALF_AN_HOUR)
        first = await cycle.step()
        assert (first["redriveGoesOn"], first["redriveWave"], first["redriveSize"]) == (True, 1, 5)
        assert await cycle.step() == first
        assert len(stage.engine.messages) == 5


async def test_nothing_begins_while_letters_are_on_their_way(store: Store) -> None:
    await keep_dead(store, range(12))
    async with mail_stage(store, Mailbox()) as stage:
        stage.clock.pass_by(timedelta(minutes=31))
        assert (await Cycle(stage, HALF_AN_HOUR).step())["redriveGoesOn"]
        assert await Cycle(stage, HALF_AN_HOUR).step() == OVER


async def test_one_code_that_fails_does_not_keep_the_next_from_its_turn(store: Store) -> None:
    await keep_dead(store, range(6))
    await keep_dead(store, range(10, 14), last_failure_code="Throttling")
    bad = {f"number-{number}@hospital.example" for number in range(6)}
    mailbox = Mailbox(script=lambda to, _attempt: Reply("550 no") if to in bad else None)
    async with mail_stage(store, mailbox) as stage:
        stage.clock.pass_by(timedelta(hours=2))
        both = HALF_AN_HOUR | {"Throttling": timedelta(hours=1)}
        assert await Cycle(stage, both).to_its_end() == [5, 4]
        left = await store.look(lambda tx: tx.dead_letters.list())
        assert {one.outbox_id for one in left} == {a_mail(number).outbox_id for number in range(6)}


async def test_a_letter_that_lost_its_mail_on_its_way_does_not_keep_the_others_waiting_for_ever(
    store: Store, database: AsyncEngine
) -> None:
    lost, *_ = await keep_dead(store, range(3))
    async with mail_stage(store, Mailbox()) as stage:
        assert await bring_back(store, stage.mail.queue, [lost], await stage.clock.now()) == [lost]
        async with database.begin() as connection:
            await connection.execute(delete(mails).where(mails.c.outbox_id == lost))
        stage.clock.pass_by(timedelta(hours=2))
        cycle = Cycle(stage, HALF_AN_HOUR)
        assert await cycle.step() == OVER
        await expire_letters(store, await stage.clock.now())
        assert (await cycle.step())["redriveSize"] == 3
