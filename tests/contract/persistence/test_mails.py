"""Mail on its way is kept once, and says what became of it."""

from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.mail.mail import MAIL_LIFE, MailState
from domain.retention import Periods
from persistence.encryption.cipher import CipherError
from persistence.repositories.legal_holds import LegalHold
from persistence.repositories.mails import open_mail
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.mails import CIPHER, CONTENT, a_mail
from workers.upkeep.retention import apply


async def test_a_mail_is_queued_once_however_often_it_is_asked_for(store: Store) -> None:
    mail = a_mail()
    async with store.transaction() as tx:
        assert await tx.mails.add(mail)
        assert not await tx.mails.add(replace(mail, lane="7"))
        assert await tx.mails.find(mail.outbox_id) == mail


async def test_whom_a_mail_is_for_and_what_it_says_is_in_no_column_in_clear(
    store: Store, database: AsyncEngine
) -> None:
    content = replace(CONTENT, recipient="ana@hospital.example")
    mail = a_mail(content=content)
    await store.run(lambda tx: tx.mails.add(mail))
    async with database.connect() as connection:
        row = str((await connection.execute(text("SELECT * FROM mails"))).one())
    assert "hospital.example" not in row
    assert "claimId" not in row
    assert open_mail(CIPHER, mail.outbox_id, mail.sealed) == content


async def test_a_mails_content_opens_in_its_own_row_alone() -> None:
    with pytest.raises(CipherError):
        open_mail(CIPHER, a_mail(2).outbox_id, a_mail(1).sealed)


async def test_what_became_of_a_mail_is_kept(store: Store) -> None:
    mail = a_mail()
    sent = replace(mail, state=MailState.SENT, attempts=2, sent_at=later(seconds=3), message_id="<1@x>")
    async with store.transaction() as tx:
        await tx.mails.add(mail)
        await tx.mails.save(sent)
        assert await tx.mails.lock(mail.outbox_id) == sent
        assert await tx.mails.by_state() == {MailState.SENT: 1}
        assert await tx.mails.lock("nobody's") is None


async def test_mails_whose_process_nobody_started_are_found_oldest_first(store: Store) -> None:
    waiting = [a_mail(n, enqueued_at=later(seconds=n)) for n in (3, 1, 2)]
    async with store.transaction() as tx:
        for mail in waiting:
            await tx.mails.add(mail)
        await tx.mails.add(a_mail(4, published_at=NOW))
        await tx.mails.add(a_mail(5, state=MailState.SENT))
        found = await tx.mails.not_started(later(seconds=3), 10)
        assert [mail.enqueued_at for mail in found] == [later(seconds=1), later(seconds=2)]
        await tx.mails.started([mail.outbox_id for mail in found], now=NOW)
        assert await tx.mails.not_started(later(seconds=3), 10) == []


async def test_mails_that_wait_beyond_their_time_are_found_started_or_not(store: Store) -> None:
    async with store.transaction() as tx:
        await tx.mails.add(a_mail(1, published_at=NOW))
        await tx.mails.add(a_mail(2))
        await tx.mails.add(a_mail(3, published_at=NOW, state=MailState.SENT))
        assert await tx.mails.overdue(NOW + MAIL_LIFE, 10) == []
        overdue = await tx.mails.overdue(NOW + MAIL_LIFE + MAIL_LIFE, 10)
        assert {mail.outbox_id for mail in overdue} == {a_mail(1).outbox_id, a_mail(2).outbox_id}


async def test_failed_mails_for_which_there_was_no_room_are_found(store: Store) -> None:
    failed = {"state": MailState.FAILED, "last_failure_at": NOW}
    async with store.transaction() as tx:
        await tx.mails.add(a_mail(1, **failed))
        await tx.mails.add(a_mail(2, **failed, dead_lettered_at=NOW))
        await tx.mails.add(a_mail(3))
        assert [mail.outbox_id for mail in await tx.mails.without_room(10)] == [a_mail(1).outbox_id]


async def test_no_mail_is_in_a_state_that_the_documents_do_not_know(
    store: Store, database: AsyncEngine
) -> None:
    await store.run(lambda tx: tx.mails.add(a_mail()))
    with pytest.raises(IntegrityError):
        async with database.begin() as connection:
            await connection.execute(text("UPDATE mails SET state = 'LOST'"))


async def test_mail_past_its_period_goes_unless_it_waits_or_its_claim_is_held(store: Store) -> None:
    async with store.transaction() as tx:
        await tx.mails.add(a_mail(1, state=MailState.SENT))
        await tx.mails.add(a_mail(2, state=MailState.SENT, claim_id="CLM-HELD-1"))
        await tx.mails.add(a_mail(3))
        await tx.holds.place(LegalHold("CLM-HELD-1", "case 7", NOW))
    removed = await apply(store, Periods(), NOW + Periods().payload + MAIL_LIFE)
    assert removed["mails"] == 1
    left = await store.look(lambda tx: tx.mails.by_state())
    assert left == {MailState.SENT: 1, MailState.PENDING: 1}
