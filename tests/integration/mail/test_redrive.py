"""A redrive, with a real mail server: by waves, stopped by failures, cut at any moment, none sent twice."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.mail.dead_letters import DeadLetter
from domain.mail.mail import MailState
from domain.mail.redrive import FailsAgain, NothingHappens, RedriveDone, RedriveTerms, Wave
from gateways.practice.mail_server import Mailbox, MailStep, Reply
from persistence.repositories.dead_letters import WantedLetters
from persistence.store import Store
from persistence.tables import mails
from tests.support.builders import NOW
from tests.support.mail_stage import MailStage, mail_stage
from tests.support.mails import a_mail, keep_dead
from workers.mail.death_notices import DEAD_LETTER
from workers.mail.redrive import Redrive, RedriveTally, bring_back
from workers.runtime.outcome import Postpone

NO_MAILBOX = Reply("550 5.1.1 no such mailbox")
FAST = RedriveTerms(per_minute=6_000)


class Killed(BaseException):
    """The redrive's process is gone."""


@dataclass
class Engine:
    """Delivers the jobs of published mails whenever somebody pauses, as the engine and a worker would."""

    stage: MailStage
    delivered: int = 0
    pauses: list[float] = field(default_factory=list)
    told: list[RedriveTally] = field(default_factory=list)
    before_pause: Callable[[], None] = lambda: None

    async def pause(self, seconds: float) -> None:
        self.before_pause()
        self.pauses.append(seconds)
        await self.deliver()

    async def deliver(self) -> None:
        messages = self.stage.engine.messages
        while self.delivered < len(messages):
            self.delivered += 1
            await self._to_its_end(str(messages[self.delivered - 1].variables["outboxId"]))

    async def _to_its_end(self, outbox_id: str) -> None:
        while isinstance(outcome := await self.stage.send(outbox_id), Postpone):
            self.stage.clock.pass_by(outcome.backoff)

    def redrive(self, terms: RedriveTerms = FAST, **changes: Any) -> Redrive:
        stage = self.stage
        given: dict[str, Any] = {"pause": self.pause, "terms": terms, "tell": self.told.append} | changes
        return Redrive(store=stage.store, queue=stage.mail.queue, clock=stage.clock, **given)

    async def run(self, terms: RedriveTerms = FAST, **changes: Any) -> tuple[RedriveTally, object]:
        """As `reenvio dlq redrive` does: all letters at rest."""
        wanted = await self.stage.store.look(lambda tx: tx.dead_letters.to_redrive())
        return await self.redrive(terms, **changes).run(wanted)

    @property
    def waves(self) -> list[int]:
        sizes = {tally.wave.number: tally.wave.size for tally in self.told}
        return list(sizes.values())

    @property
    def copies(self) -> Counter[str]:
        """How often each mail arrived, but for notices about dead letters."""
        wanted = [one for one in self.stage.mailbox.arrived if one.to[0].startswith("number-")]
        return Counter(one.message_id for one in wanted)


def refusing(numbers: set[int], step: MailStep = NO_MAILBOX) -> Mailbox:
    addresses = {f"number-{number}@hospital.example" for number in numbers}
    return Mailbox(script=lambda address, _attempt: step if address in addresses else None)


async def letters(store: Store) -> list[DeadLetter]:
    return list(await store.look(lambda tx: tx.dead_letters.list(limit=10_000)))


async def test_a_letter_leaves_only_when_its_mail_has_arrived(store: Store) -> None:
    [dead] = await keep_dead(store, [1])
    async with mail_stage(store, Mailbox()) as stage:
        assert await bring_back(store, stage.mail.queue, [dead], NOW) == [dead]
        [letter] = await letters(store)
        assert letter.redriven_at == NOW
        assert (await stage.found(dead)).state is MailState.PENDING
        await Engine(stage).deliver()
        assert await letters(store) == []
        assert (await stage.found(dead)).state is MailState.SENT


async def test_one_that_fails_again_keeps_its_place_with_every_failed_attempt_and_its_last_failure(
    store: Store,
) -> None:
    await keep_dead(store, [1])
    [before] = await letters(store)
    async with mail_stage(store, refusing({1}, Reply("451 4.3.0 not now"))) as stage:
        tally, end = await Engine(stage).run()
        assert (tally.failed, end) == (1, FailsAgain(Wave(1, 1, failed=1)))
        [after] = await letters(store)
    assert (after.failed_attempts, after.last_failure_code) == (10, "451")
    assert (after.moved_at, after.expires_at) == (before.moved_at, before.expires_at)
    assert after.last_failure_at > before.last_failure_at
    assert after.redriven_at is None


async def test_thirty_go_in_waves_of_five_ten_and_the_rest(store: Store) -> None:
    await keep_dead(store, range(30))
    async with mail_stage(store, Mailbox()) as stage:
        engine = Engine(stage)
        tally, end = await engine.run()
        assert (tally.sent, tally.left, end) == (30, 0, RedriveDone())
        assert engine.waves == [5, 10, 15]
        assert await letters(store) == []
        assert set(engine.copies.values()) == {1}
        assert len(engine.copies) == 30


async def test_it_stops_by_itself_and_a_resume_takes_the_untouched_first(store: Store) -> None:
    ids = await keep_dead(store, range(30))
    mailbox = refusing({6, 8, 10})
    async with mail_stage(store, mailbox) as stage:
        stage.clock.pass_by(timedelta(hours=1))
        first = Engine(stage)
        tally, end = await first.run()
        assert isinstance(end, FailsAgain)
        assert (first.waves, tally.failed, tally.left) == ([5, 10], 3, 15)
        await first.deliver()
        waiting = list(await store.look(lambda tx: tx.dead_letters.to_redrive()))
        assert waiting[:15] == ids[15:]
        assert set(waiting[15:]) == {ids[6], ids[8], ids[10]}
        mailbox.script = lambda _address, _attempt: None
        resumed = Engine(stage, delivered=first.delivered)
        tally, end = await resumed.run()
        assert (tally.sent, end, resumed.waves) == (18, RedriveDone(), [5, 10, 3])
        assert await letters(store) == []
        assert (len(resumed.copies), set(resumed.copies.values())) == (30, {1})


@pytest.mark.parametrize("after", [0, 1, 2, 7])
async def test_one_that_is_killed_loses_nothing_and_its_resume_sends_nothing_twice(
    store: Store, after: int
) -> None:
    await keep_dead(store, range(20))
    async with mail_stage(store, Mailbox()) as stage:
        cut = Engine(stage)

        def kill() -> None:
            if len(cut.pauses) == after:
                raise Killed

        cut.before_pause = kill
        with pytest.raises(Killed):
            await cut.run(RedriveTerms(per_minute=60))
        resumed = Engine(stage, delivered=cut.delivered)
        tally, end = await resumed.run()
        await resumed.deliver()
        assert end == RedriveDone()
        assert tally.sent < 20
        assert await letters(store) == []
        assert (len(resumed.copies), set(resumed.copies.values())) == (20, {1})


async def test_what_the_engine_did_not_hear_of_is_told_it_by_upkeep(store: Store) -> None:
    [dead] = await keep_dead(store, [1])
    async with mail_stage(store, Mailbox()) as stage:
        stage.engine.is_away = True
        assert await bring_back(store, stage.mail.queue, [dead], NOW) == [dead]
        stage.engine.is_away = False
        stage.clock.pass_by(timedelta(minutes=2))
        await stage.run("start-emails")
        await Engine(stage).deliver()
        assert await letters(store) == []


async def test_two_redrives_at_the_same_time_send_each_mail_once(store: Store) -> None:
    ids = await keep_dead(store, range(12))
    async with mail_stage(store, Mailbox()) as stage:
        engine = Engine(stage)
        (one, _), (other, _) = await asyncio.gather(engine.redrive().run(ids), engine.redrive().run(ids))
        await engine.deliver()
        assert one.sent + other.sent == 12
        assert one.passed_over + other.passed_over == 12
        assert (len(engine.copies), set(engine.copies.values())) == (12, {1})


async def test_one_whose_mail_retention_has_removed_is_sent_from_its_letter(
    store: Store, database: AsyncEngine
) -> None:
    [dead] = await keep_dead(store, [1])
    async with database.begin() as connection:
        await connection.execute(delete(mails))
    async with mail_stage(store, Mailbox()) as stage:
        tally, end = await Engine(stage).run()
        assert (tally.sent, end) == (1, RedriveDone())
        mail = await stage.found(dead)
        assert (mail.state, mail.claim_id, mail.template) == (
            MailState.SENT, "CLM-001-1", "max-retries-exceeded"
        )  # fmt: skip


async def test_it_goes_into_the_lane_that_its_company_has_today(store: Store) -> None:
    [dead] = await keep_dead(store, [1])
    async with store.transaction() as tx:
        await tx.mails.save(a_mail(1, lane="gone", state=MailState.FAILED, dead_lettered_at=NOW))
    async with mail_stage(store, Mailbox()) as stage:
        await bring_back(store, stage.mail.queue, [dead], NOW)
        [lane] = [message.variables["lane"] for message in stage.engine.messages]
    async with store.reading() as tx:
        [waiting] = [one for one in await tx.mail_lanes.known() if one.waits_since is not None]
        assert (waiting.lane, waiting.company_id) == (lane, (await tx.dead_letters.find(dead)).company_id)  # type: ignore[union-attr]


async def test_where_nobody_sends_it_ends_and_says_so(store: Store) -> None:
    await keep_dead(store, range(8))
    async with mail_stage(store, Mailbox()) as stage:
        waited: list[float] = []

        async def nobody_sends(seconds: float) -> None:
            waited.append(seconds)

        patient = RedriveTerms(per_minute=6_000, patience=timedelta(minutes=1))
        tally, end = await Engine(stage).run(patient, pause=nobody_sends)
        assert end == NothingHappens(Wave(1, 5))
        assert tally.left == 3
        assert sum(waited) == pytest.approx(60, abs=1)
        on_their_way = await store.look(lambda tx: tx.dead_letters.count(WantedLetters(on_its_way=True)))
        assert on_their_way == 5


async def test_no_more_leave_in_a_minute_than_may(store: Store) -> None:
    await keep_dead(store, range(9))
    async with mail_stage(store, Mailbox()) as stage:
        engine = Engine(stage)
        await engine.run(RedriveTerms(per_minute=30))
        assert engine.pauses.count(2.0) == 8


async def test_a_notice_about_a_dead_letter_may_be_brought_back_too(store: Store) -> None:
    """And when it dies again, it still makes no further notice."""
    await keep_dead(store, [1])
    async with store.transaction() as tx:
        notice = a_mail(1, template=DEAD_LETTER, state=MailState.FAILED, dead_lettered_at=NOW)
        await tx.mails.save(notice)
    async with mail_stage(store, Mailbox(script=lambda _to, _attempt: Reply("550 no"))) as stage:
        await Engine(stage).run()
        assert await store.look(lambda tx: tx.mails.by_state()) == {MailState.FAILED: 1}


async def test_a_wave_that_fails_while_it_is_sent_off_stops_at_once_and_leaves_the_rest_untouched(
    store: Store,
) -> None:
    await keep_dead(store, range(40))
    async with mail_stage(store, Mailbox(script=lambda *_: NO_MAILBOX)) as stage:
        tally, end = await Engine(stage).run(RedriveTerms(first=40, per_minute=60))
    assert end == FailsAgain(Wave(1, 40, sent=0, failed=9))
    assert (tally.failed, tally.wave.under_way, tally.left) == (9, 0, 31)
    assert await store.look(lambda tx: tx.dead_letters.count(WantedLetters(on_its_way=True))) == 0


async def test_how_a_wave_goes_is_told_while_it_is_sent_off(store: Store) -> None:
    await keep_dead(store, range(6))
    async with mail_stage(store, Mailbox()) as stage:
        engine = Engine(stage)
        await engine.run(RedriveTerms(first=6, per_minute=60))
    assert list(dict.fromkeys(tally.sent for tally in engine.told)) == [1, 2, 3, 4, 5, 6]
