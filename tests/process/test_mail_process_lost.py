"""A mail whose process is stuck or gone, on a real broker: it is started again, once, and ends."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyzeebe.proto.gateway_pb2 import CancelProcessInstanceRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from bpmn.names import ProcessId
from domain.mail.mail import Mail, MailContent, MailState, outbox_id
from gateways.practice.mail_server import Mailbox, Reply, mail_server
from gateways.zeebe.refusals import CommandRefusedError
from persistence.repositories.mails import seal_mail
from persistence.store import Transaction
from tests.process.mail_post import mailing
from tests.process.stage import Stage, eventually
from tests.support.mails import a_dead_letter, a_mail
from workers.mail.redrive import bring_back
from workers.upkeep.lost_mail import end_cancelled, end_overdue
from workers.upkeep.standing import nudges_by

CONTENT = MailContent("BILLING_MANAGEMENT", "permanent-error", "pt", {})


@asynccontextmanager
async def sending(stage: Stage, folder: Path) -> AsyncIterator[tuple[Stage, Mailbox]]:
    mailbox = Mailbox()
    async with mail_server(mailbox), mailing(stage, mailbox, folder) as there:
        yield there, mailbox


async def made(stage: Stage, name: str) -> Mail:
    """A mail that nobody has kept yet."""
    identity = outbox_id("lost process", stage.run_id, name)
    now, sealed = await stage.clock.now(), seal_mail(stage.app.cipher, identity, CONTENT)
    company = stage.app.mail.queue.company_id
    mail = a_mail(outbox_id=identity, enqueued_at=now, content=CONTENT, sealed=sealed, company_id=company)
    lane = await stage.app.store.run(lambda tx: tx.mail_lanes.assign(company, 64, now=now))
    return dataclasses.replace(mail, lane=lane)


async def on_an_incident(stage: Stage, mail: Mail) -> int:
    """Its process has begun where the mail is not known, and stands on an incident; which one it is."""
    await stage.app.mail.queue.start([mail], mail.enqueued_at)

    async def look() -> int | None:
        found = instances(stage, mail)
        return found[0] if found and stage.records.of_instance(found[0], "INCIDENT", "CREATED") else None

    return await eventually(look, "the incident of a mail")


def instances(stage: Stage, mail: Mail) -> list[int]:
    """The processes that were started for a mail, in their order."""
    return sorted(stage.records.started_with("outboxId", mail.outbox_id))


async def sent(stage: Stage, mail: Mail) -> Mail:
    async def look() -> Mail | None:
        found = await stage.app.store.look(lambda tx: tx.mails.find(mail.outbox_id))
        return found if found and found.state is MailState.SENT else None

    return await eventually(look, "the mail to be sent")


async def died(tx: Transaction, mail: Mail) -> None:
    await tx.mails.add(dataclasses.replace(mail, state=MailState.FAILED, dead_lettered_at=mail.enqueued_at))
    now, letter = mail.enqueued_at, a_dead_letter(outbox_id=mail.outbox_id, original_data=mail.sealed)
    mine = dataclasses.replace(letter, company_id=mail.company_id, moved_at=now, last_failure_at=now)
    assert await tx.dead_letters.add(mine)


async def test_a_letter_whose_old_process_stands_on_an_incident_is_redriven_past_it(
    stage: Stage, tmp_path: Path
) -> None:
    async with sending(stage, tmp_path) as (there, mailbox):
        mail = await made(there, "incident")
        await on_an_incident(there, mail)
        await there.app.store.run(lambda tx: died(tx, mail))
        app, now = there.app, await there.clock.now()
        assert await bring_back(app.store, app.mail.queue, [mail.outbox_id], now) == [mail.outbox_id]
        arrived = await sent(there, mail)
    assert [one.message_id for one in mailbox.arrived].count(arrived.message_id or "") == 1


async def test_a_mail_of_an_engine_that_is_gone_is_started_anew_and_one_that_has_a_process_is_not(
    stage: Stage, tmp_path: Path
) -> None:
    async with sending(stage, tmp_path) as (there, mailbox):
        gone, stuck = await made(there, "gone"), await made(there, "stuck")
        only = await on_an_incident(there, stuck)
        async with there.app.store.transaction() as tx:
            for mail in (stuck, gone):
                await tx.mails.add(dataclasses.replace(mail, published_at=mail.enqueued_at))
        later = await there.clock.now() + timedelta(minutes=31)
        await there.app.mail.queue.start_forgotten(later)
        arrived = await sent(there, gone)
        assert instances(there, stuck) == [only]
    assert [one.message_id for one in mailbox.arrived].count(arrived.message_id or "") == 1


async def test_when_its_day_is_over_a_process_on_an_incident_ends_as_that_of_a_dead_letter(
    stage: Stage, tmp_path: Path
) -> None:
    async with sending(stage, tmp_path) as (there, _mailbox):
        mail = await made(there, "finished")
        hidden = dataclasses.replace(mail, sealed="AES:other:key")
        await there.app.store.run(lambda tx: tx.mails.add(hidden))
        only = await on_an_incident(there, mail)
        tomorrow = await there.clock.now() + timedelta(hours=25)
        sender, nudges = there.app.mail.sender, nudges_by(there.app.commands)
        assert await end_overdue(sender, nudges, tomorrow)

        async def ended() -> bool | None:
            return only in there.records.ended(ProcessId.NOTIFY) or None

        await eventually(ended, "the process to end")
        assert there.records.variables(only)["emailStatus"] == "FAILED"


async def in_hand(stage: Stage, mail: Mail) -> Mail:
    """The mail as it waits for its next attempt, its process on record."""

    async def look() -> Mail | None:
        found = await stage.app.store.look(lambda tx: tx.mails.find(mail.outbox_id))
        return found if found and found.last_failure_at and found.last_job else None

    return await eventually(look, "the first attempt to fail")


async def refused_once(stage: Stage, name: str) -> tuple[Mail, int]:
    """A mail that waits for its login to be mended, and its process."""
    mail = await made(stage, name)
    await stage.app.store.run(lambda tx: tx.mails.add(mail))
    await stage.app.mail.queue.start([mail], mail.enqueued_at)
    waits = await in_hand(stage, mail)
    [instance] = instances(stage, mail)
    assert waits.last_job
    assert waits.last_job.place
    assert waits.last_job.place.instance == instance
    return waits, instance


async def test_a_mail_whose_process_is_cancelled_in_operate_is_a_dead_letter_and_one_that_runs_is_not(
    stage: Stage, tmp_path: Path
) -> None:
    async with refusing(stage, tmp_path) as there:
        (cancelled, instance), (waits, _) = (
            await refused_once(there, "cancelled"),
            await refused_once(there, "runs"),
        )
        await cancel(there, instance)
        later = await there.clock.now() + timedelta(hours=1)
        assert await end_cancelled(there.app.mail.sender, there.app.commands.was_ended, later) == 1
        found = await there.app.store.look(
            lambda tx: tx.mails.find_all([cancelled.outbox_id, waits.outbox_id])
        )
        letter = await there.app.store.look(lambda tx: tx.dead_letters.find(cancelled.outbox_id))
    assert found[cancelled.outbox_id].state is MailState.FAILED
    assert found[waits.outbox_id].state is MailState.PENDING
    assert letter is not None
    assert letter.last_failure_code == "PROCESS_ENDED"


async def test_a_process_of_an_engine_that_has_lost_its_data_was_ended_by_nobody(
    stage: Stage, tmp_path: Path
) -> None:
    async with refusing(stage, tmp_path) as there:
        _, instance = await refused_once(there, "engine gone")
        await cancel(there, instance)
        beyond_all = instance + (1 << 40)  # as of an engine that had given out more keys than this one
        assert await there.app.commands.was_ended(instance)
        assert not await there.app.commands.was_ended(beyond_all)
        with pytest.raises(CommandRefusedError):  # of a partition that is not there
            await there.app.commands.was_ended(instance + (1 << 51))


@asynccontextmanager
async def refusing(stage: Stage, folder: Path) -> AsyncIterator[Stage]:
    """Mail to a server that refuses every login: it waits, and spends no attempt."""
    mailbox = Mailbox(script=lambda _address, _attempt: Reply("535 5.7.8 no"))
    async with mail_server(mailbox), mailing(stage, mailbox, folder) as there:
        yield there


async def cancel(stage: Stage, instance: int) -> None:
    stub: Any = GatewayStub(stage.app.channel)
    await stub.CancelProcessInstance(CancelProcessInstanceRequest(processInstanceKey=instance))
