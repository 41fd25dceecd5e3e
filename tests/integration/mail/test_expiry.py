"""Dead letters go after seven days, counted and logged; mail that found no room moves in."""

from datetime import timedelta

import pytest
from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from domain.mail.mail import MailState
from domain.retention import Periods
from gateways.practice.mail_server import Mailbox
from persistence.repositories.dead_letters import WantedLetters
from persistence.store import Store
from persistence.tables import mails
from tests.support.builders import NOW, later
from tests.support.mail_stage import MailStage, mail_stage
from tests.support.mails import a_mail, fill_dead_letters, keep_dead
from workers.mail.dead_letters import move_in
from workers.mail.redrive import bring_back
from workers.runtime.outcome import Complete
from workers.upkeep.dead_letters import expire_letters, purge_letters
from workers.upkeep.retention import apply

JOB = "expire-dead-letters"


async def test_what_is_seven_days_old_goes_and_is_counted_and_logged(store: Store) -> None:
    await keep_dead(store, range(3), moved_at=NOW)
    await keep_dead(store, [3], moved_at=NOW, last_failure_code="550")
    await keep_dead(store, [4], moved_at=later(hours=1))
    async with mail_stage(store, Mailbox()) as stage:
        stage.clock.pass_by(timedelta(days=7, seconds=-1))
        assert await stage.run(JOB) == Complete({"processedCount": 0})
        stage.clock.pass_by(timedelta(seconds=1))
        with capture_logs() as logs:
            assert await stage.run(JOB) == Complete({"processedCount": 4})
    [told] = [line for line in logs if line["event"] == "dead_letters_expired"]
    assert (told["letters"], told["by_code"], told["log_level"]) == (4, {"421": 3, "550": 1}, "warning")
    [left] = await store.look(lambda tx: tx.dead_letters.list())
    assert left.outbox_id == a_mail(4).outbox_id
    expired = await store.look(lambda tx: tx.mails.find(a_mail(1).outbox_id))
    assert expired is not None
    assert expired.state is MailState.FAILED


async def brought_back(stage: MailStage, number: int) -> str:
    """A letter on its way again since the sixth day."""
    [dead] = await keep_dead(stage.store, [number], moved_at=NOW)
    assert await bring_back(stage.store, stage.mail.queue, [dead], later(days=6)) == [dead]
    return dead


async def lose_mail(database: AsyncEngine, outbox_id: str) -> None:
    async with database.begin() as connection:
        await connection.execute(delete(mails).where(mails.c.outbox_id == outbox_id))


async def test_one_that_is_on_its_way_stays_until_that_is_over(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        await brought_back(stage, 1)
    assert await expire_letters(store, later(days=8)) == 0
    assert await store.look(lambda tx: tx.dead_letters.count()) == 1


async def test_one_whose_mail_vanished_on_its_way_is_laid_to_rest_and_goes_with_its_time(
    store: Store, database: AsyncEngine
) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        lost, other = await brought_back(stage, 1), await brought_back(stage, 2)
    await lose_mail(database, lost)
    with capture_logs() as logs:
        assert await expire_letters(store, later(days=6, hours=2)) == 0
    assert [line["letters"] for line in logs if line["event"] == "dead_letters_stray"] == [1]
    assert await store.look(lambda tx: tx.dead_letters.to_redrive()) == [lost]
    assert await expire_letters(store, later(days=8)) == 1
    assert [letter.outbox_id for letter in await store.look(lambda tx: tx.dead_letters.list())] == [other]


async def test_one_whose_mail_vanished_can_be_sent_again_and_removed(
    store: Store, database: AsyncEngine
) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        again, gone = await brought_back(stage, 1), await brought_back(stage, 2)
        for dead in (again, gone):
            await lose_mail(database, dead)
        await expire_letters(store, later(days=6, hours=2))
        assert await bring_back(store, stage.mail.queue, [again], later(days=6, hours=3)) == [again]
        assert (await stage.found(again)).state is MailState.PENDING
    assert await purge_letters(store, WantedLetters(), lambda _done: None) == 1
    assert [letter.outbox_id for letter in await store.look(lambda tx: tx.dead_letters.list())] == [again]


async def test_a_letter_that_was_brought_back_just_now_is_never_taken_for_one_that_lost_its_mail(
    store: Store, database: AsyncEngine
) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        dead = await brought_back(stage, 1)
    await lose_mail(database, dead)  # as a commit is seen that another has not seen whole
    await expire_letters(store, later(days=6, minutes=59))
    assert await store.look(lambda tx: tx.dead_letters.to_redrive()) == []


async def test_mail_that_found_no_room_moves_in_when_letters_expire(
    store: Store, database: AsyncEngine
) -> None:
    await fill_dead_letters(database)
    waiting = a_mail(
        1, state=MailState.FAILED, attempts=5, last_failure_reason="SMTP 421: not now", last_failure_at=NOW
    )
    await store.run(lambda tx: tx.mails.add(waiting))
    assert await move_in(store, NOW) == 0
    assert await expire_letters(store, later(hours=1)) == 10_000
    [letter] = await store.look(lambda tx: tx.dead_letters.list())
    assert (letter.outbox_id, letter.failed_attempts, letter.moved_at) == (
        waiting.outbox_id, 5, later(hours=1)
    )  # fmt: skip
    assert await store.look(lambda tx: tx.mails.without_room(10)) == []
    assert await move_in(store, later(hours=2)) == 0


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_nothing_is_logged_when_nothing_expires(store: Store) -> None:
    with capture_logs() as logs:
        assert await expire_letters(store, NOW) == 0
    assert logs == []


async def test_retention_leaves_mail_alone_that_found_no_room_and_is_nowhere_else(store: Store) -> None:
    failed = {"state": MailState.FAILED, "last_failure_reason": "why", "last_failure_at": NOW}
    buried, homeless = a_mail(1, **failed, dead_lettered_at=NOW), a_mail(2, **failed)
    async with store.transaction() as tx:
        for mail in (buried, homeless, a_mail(3, state=MailState.SENT, sent_at=NOW), a_mail(4)):
            await tx.mails.add(mail)
    assert (await apply(store, Periods(), later(days=91)))["mails"] == 2
    left = await store.look(lambda tx: tx.mails.find_all([a_mail(n).outbox_id for n in range(1, 5)]))
    assert set(left) == {homeless.outbox_id, a_mail(4).outbox_id}
