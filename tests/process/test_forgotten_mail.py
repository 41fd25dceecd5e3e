"""A mail whose backoff the engine has forgotten: the watch begins its task anew, and it arrives."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyzeebe.proto.gateway_pb2 import FailJobRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from domain.mail.mail import Mail, MailContent, MailState, outbox_id
from gateways.engine_clock import EngineClock
from gateways.practice.mail_server import Mailbox, MailStep, StallMail, mail_server
from gateways.zeebe import engine
from persistence.database.engine import sqlite_url
from tests.process.mail_post import mailing
from tests.process.records import Records
from tests.process.stage import Payers, Stage, eventually
from workers.app.cluster import embedded
from workers.app.composition import running
from workers.app.databases import migrate_database
from workers.config.settings import Settings
from workers.mail.queueing import MailRequest
from workers.upkeep.standing import StandingWatch, nudges_by

FORGOTTEN = round(timedelta(days=3_650).total_seconds() * 1_000)
STUCK, OTHER = outbox_id("forgotten", 1), outbox_id("forgotten", 2)
LATE, APART = timedelta(minutes=25), timedelta(minutes=5)


@asynccontextmanager
async def own_stage(
    broker: engine.RunningEngine, config: engine.EngineConfig, folder: Path
) -> AsyncIterator[Stage]:
    settings = Settings(home=folder, database_url=sqlite_url(folder / "test.db"))
    await migrate_database(settings)
    async with running(settings, embedded(broker)) as app:
        await app.deploy()
        clock, records = EngineClock(broker.management_url), Records(config.log_file)
        yield Stage(app, clock, settings, Payers(), records)


async def queue(stage: Stage, outbox: str) -> None:
    now, queue = await stage.clock.now(), stage.app.mail.queue
    request = MailRequest(outbox, MailContent("BILLING_MANAGEMENT", "permanent-error", "pt", {}))
    mail = await stage.app.store.run(lambda tx: queue.add(tx, request, now))
    assert await queue.start([mail], now) == 1


async def mail_once(stage: Stage, outbox: str, *, attempts: int, state: MailState) -> Mail:
    async def look() -> Mail | None:
        mail = await stage.app.store.look(lambda tx: tx.mails.find(outbox))
        return mail if mail and (mail.attempts, mail.state) == (attempts, state) else None

    return await eventually(look, f"attempt {attempts} of the mail, {state}")


async def look_later(stage: Stage, by: timedelta) -> int:
    """One look of the watch, so much later by the engine's clock."""
    moved = await stage.clock.advance(by)
    return await StandingWatch(stage.app.store, nudges_by(stage.app.commands)).look(moved)


async def test_a_mail_whose_backoff_the_engine_forgot_is_begun_anew_and_arrives(
    own_broker: engine.RunningEngine, own_config: engine.EngineConfig, tmp_path: Path
) -> None:
    steps: list[MailStep] = [StallMail()]
    mailbox = Mailbox(script=lambda _address, _attempt: steps.pop() if steps else None)
    async with (
        own_stage(own_broker, own_config, tmp_path) as empty,
        mail_server(mailbox),
        mailing(empty, mailbox, tmp_path) as stage,
    ):
        await queue(stage, STUCK)
        held = await mail_once(stage, STUCK, attempts=1, state=MailState.PENDING)
        assert held.job_key
        stub: Any = GatewayStub(stage.app.channel)
        await stub.FailJob(FailJobRequest(jobKey=held.job_key, retries=3, retryBackOff=FORGOTTEN))
        await has_failed(stage)
        assert await look_later(stage, LATE) == 0
        await queue(stage, OTHER)
        await mail_once(stage, OTHER, attempts=1, state=MailState.SENT)
        assert await look_later(stage, APART) == 1
        sent = await mail_once(stage, STUCK, attempts=2, state=MailState.SENT)
        assert sent.job_key != held.job_key
    assert [one.message_id for one in mailbox.arrived].count(sent.message_id or "") == 1


async def has_failed(stage: Stage) -> None:
    """The attempt is over, on record, and its wait has begun."""

    async def look() -> bool | None:
        mail = await stage.app.store.look(lambda tx: tx.mails.find(STUCK))
        return (mail is not None and mail.last_failure_at is not None) or None

    await eventually(look, "the first attempt to end")
