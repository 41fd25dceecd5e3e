"""Companies that share a lane, on a real broker: each keeps its own limits, and holds no other up."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from domain.mail.mail import Mail, MailContent, MailState, outbox_id
from gateways.practice.mail_server import Mailbox, mail_server
from persistence.store import Transaction
from tests.process.mail_post import mailing_by
from tests.process.stage import LOOK_SECONDS, Stage
from workers.config.fairness import FairnessSettings, OwnLimits
from workers.mail.queueing import MailRequest

PATIENCE_SECONDS = 120.0
NOISY_MAILS, CALM_MAILS = 12, 3


async def queued(stage: Stage, company: str, number: int) -> list[Mail]:
    """So many mails of a company, on their way in the engine."""
    queue, now = stage.app.mail.queue, await stage.app.clock.now()
    made: list[Mail] = []
    async with stage.app.store.transaction() as tx:
        for one in range(number):
            content = MailContent(f"{company}@mailbox.example", "permanent-error", "pt", {})
            request = MailRequest(outbox_id(company, one), content, company)
            made.append(await queue.add(tx, request, now))
    assert await queue.start(made, now) == number
    return made


async def until_sent(stage: Stage, mails: list[Mail]) -> None:
    ids = [mail.outbox_id for mail in mails]
    async with asyncio.timeout(PATIENCE_SECONDS):
        while set((await stage.app.store.look(lambda tx: tx.mails.states(ids))).values()) != {MailState.SENT}:
            await asyncio.sleep(LOOK_SECONDS)


async def given_up(tx: Transaction, ids: list[str]) -> None:
    """Leave nothing to send to workers of other tests."""
    for outbox in ids:
        mail = await tx.mails.lock(outbox)
        assert mail is not None
        await tx.mails.save(replace(mail, state=MailState.SENT))


async def test_a_company_at_its_own_limit_holds_nobody_of_its_lane_up(stage: Stage, tmp_path: Path) -> None:
    noisy, calm = (f"{name}-{uuid4().hex[:8]}" for name in ("noisy", "calm"))
    limits = {noisy: OwnLimits(per_minute=2, at_once=1)}
    fairness = FairnessSettings(per_minute=100_000, company_per_minute=100_000, company_limits=limits)
    async with mail_server(Mailbox()) as mailbox:
        server = {
            "smtp_host": "127.0.0.1", "smtp_port": mailbox.port, "smtp_security": "none", "lanes": 1
        }  # fmt: skip
        async with mailing_by(stage, server, tmp_path, fairness) as there:
            first = await queued(there, noisy, NOISY_MAILS)
            later = await queued(there, calm, CALM_MAILS)
            assert {mail.lane for mail in (*first, *later)} == {"0"}
            await until_sent(there, later)
            sent = [one.to[0].partition("@")[0] for one in mailbox.arrived]
            figures = {one.company_id: one for one in there.app.mail.lanes.order.metrics()}
            await stage.app.store.run(partial(given_up, ids=[mail.outbox_id for mail in first]))
    assert sent.count(calm) == CALM_MAILS
    assert sent.count(noisy) < NOISY_MAILS
    assert figures[calm].total_processed == CALM_MAILS
    assert figures[noisy].total_processed == sent.count(noisy)
