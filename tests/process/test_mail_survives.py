"""A mail server that fails half of the time, workers killed at random: mail arrives, or is a dead letter.

The full size: `MAILS=1000 make long`.
"""

import asyncio
import os
import random
from collections import Counter
from datetime import timedelta
from pathlib import Path
from time import monotonic

import pytest
from sqlalchemy import select

from domain.mail.mail import MailContent, MailState, message_id, outbox_id
from gateways.engine_clock import EngineClock
from gateways.practice.mail_server import DropMail, Mailbox, MailStep, Reply, TakeInSilence, mail_server
from gateways.zeebe import engine
from persistence.database.engine import sqlite_url
from persistence.tables import mails
from tests.process.stage import restart
from tests.support.command_line import environment
from workers.app.cluster import embedded
from workers.app.composition import App, running
from workers.app.databases import migrate_database
from workers.config.settings import Settings
from workers.demo.mail import mail_environment
from workers.demo.worker_process import WorkerProcess
from workers.mail.queueing import MailRequest

MAILS = int(os.environ.get("MAILS", "100"))
WORKERS, DOMAIN = 2, "hospital.example"
Cut = set[tuple[str, int]]
"""Attempts that ended with their worker: the mail, and which attempt."""
PATIENCE_SECONDS = max(900.0, 4.0 * MAILS)
LOOK_SECONDS, QUIET_SECONDS = 0.2, 150.0
LOCKS = timedelta(minutes=2)
TROUBLE: tuple[MailStep, ...] = (
    Reply("421 4.3.2 later"),
    Reply("451 4.3.0 later", "DATA"),
    DropMail(),
    DropMail("DATA"),
    TakeInSilence(),
)


@pytest.mark.long
@pytest.mark.timeout(PATIENCE_SECONDS)
async def test_each_mail_arrives_or_is_a_dead_letter_with_its_reason(
    own_broker: engine.RunningEngine, own_config: engine.EngineConfig, tmp_path: Path
) -> None:
    luck = random.Random(7)
    mailbox = Mailbox(script=lambda _address, _attempt: luck.choice(TROUBLE) if luck.random() < 0.5 else None)
    settings = Settings(home=tmp_path, database_url=sqlite_url(tmp_path / "test.db"))
    await migrate_database(settings)
    async with mail_server(mailbox), running(settings, embedded(own_broker)) as app:
        await app.deploy()
        await queue(app)
        workers = [
            WorkerProcess(_environment(settings, own_config, mailbox.port), tmp_path / f"worker-{n}.log")
            for n in range(WORKERS)
        ]
        clock = EngineClock(own_broker.management_url)
        try:
            kills, cut = await _killed_again_and_again(app, workers, clock, own_config)
        finally:
            for worker in workers:
                worker.kill()
        await prove(app, mailbox, cut)
        print(_summary(await _states(app), mailbox, kills, cut))


async def queue(app: App) -> None:
    """All mails in one commit, each with a process of its own."""
    now = await app.clock.now()
    content = MailContent("OPERATIONS", "permanent-error", "pt", {"claimId": "CLM-1-1"})
    async with app.store.transaction() as tx:
        requests = [MailRequest(outbox_id("survives", number), content) for number in range(MAILS)]
        queued = [await app.mail.queue.add(tx, request, now) for request in requests]
    assert await app.mail.queue.start(queued, now) == MAILS


async def _killed_again_and_again(
    app: App, workers: list[WorkerProcess], clock: EngineClock, config: engine.EngineConfig
) -> tuple[int, Cut]:
    """Let workers work and die until no mail waits; how often one was killed, and in which attempts.

    The clock jumps over their locks while nobody works. Zeebe 8.6.0 forgets to end some of them until it
    starts again; so it is started again when a round brought nothing.
    """
    kills, cut, luck = 0, Cut(), random.Random(1)
    while left := await _waiting(app):
        for worker in workers:
            worker.start()
        await _work_a_while(app, round(left * luck.uniform(0.6, 0.9)) if left > MAILS // 10 else 0)
        for worker in workers:
            worker.kill()
        kills += len(workers)
        cut |= await _under_way(app)
        if await _waiting(app) == left:
            await asyncio.to_thread(restart, config)
        await clock.advance(LOCKS)
    return kills, cut


async def _under_way(app: App) -> Cut:
    """The attempts that began and have no end on record, each by its mail and number."""
    begun = select(mails.c.outbox_id, mails.c.attempts).where(mails.c.sending_until.is_not(None))
    async with app.store.reading() as tx:
        return {(row.outbox_id, row.attempts) for row in await tx._connection.execute(begun)}


async def _work_a_while(app: App, enough: int) -> None:
    """Until no more than so many mails wait, or nothing has changed for a while."""
    before, changed = -1, monotonic()
    while (waiting := await _waiting(app)) > enough and monotonic() - changed < QUIET_SECONDS:
        before, changed = waiting, changed if waiting == before else monotonic()
        await asyncio.sleep(LOOK_SECONDS)


async def _waiting(app: App) -> int:
    return (await _states(app)).get(MailState.PENDING, 0)


async def _states(app: App) -> dict[MailState, int]:
    return dict(await app.store.look(lambda tx: tx.mails.by_state()))


async def prove(app: App, mailbox: Mailbox, cut: Cut) -> None:
    """Each mail's end; and no mail came more often than once and once more for every answer it lost.

    Answers are lost by the server, which hangs up, and by workers that are killed before they wrote it down.
    """
    copies = Counter(arrived.message_id for arrived in mailbox.arrived)
    silent = Counter(arrived.message_id for arrived in mailbox.arrived if not arrived.is_answered)
    killed = Counter(mail for mail, _ in cut)
    for one in (outbox_id("survives", number) for number in range(MAILS)):
        await _prove_one(app, one, copies)
        message = message_id(one, DOMAIN)
        assert copies[message] <= 1 + silent[message] + killed[one]


async def _prove_one(app: App, one: str, copies: Counter[str]) -> None:
    mail = await app.store.look(lambda tx: tx.mails.find(one))
    assert mail is not None
    if mail.state is MailState.SENT:
        assert mail.message_id == message_id(one, DOMAIN)
        assert copies[mail.message_id] >= 1
        return
    assert mail.state is MailState.FAILED
    letter = await app.store.look(lambda tx: tx.dead_letters.find(mail.outbox_id))
    assert letter is not None
    assert letter.failed_attempts == 5
    assert letter.last_failure_reason


def _summary(states: dict[MailState, int], mailbox: Mailbox, kills: int, cut: Cut) -> str:
    tried, different = sum(mailbox.attempts.values()), len({one.message_id for one in mailbox.arrived})
    ends = f"{MAILS} mails in {tried} attempts, {kills} workers killed: {states}"
    twice = f"{len(mailbox.arrived)} copies arrived, {len(mailbox.arrived) - different} beyond the first"
    return f"{ends}; {twice}; answers lost: {mailbox.lost_answers} by the server, {len(cut)} by kills at most"


def _environment(settings: Settings, config: engine.EngineConfig, port: int) -> dict[str, str]:
    own = {
        "ENGINE_HOME": str(config.home),
        "DATABASE_URL": settings.database,
        "PRACTICE_PAYER": "true",
        "LOG_LEVEL": "error",
    }
    return dict(environment(settings.home)) | own | mail_environment(port)
