"""Each code of SES in the documents, on a real broker: waited for in the engine, or a dead letter."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from domain.mail.mail import Mail, MailContent, MailState, outbox_id
from domain.mail.retry import PROFILES, wait_after
from tests.process.mail_post import mailing_by
from tests.process.stage import LOOK_SECONDS, Claim, Stage
from workers.mail.queueing import MailRequest

PATIENCE_SECONDS = 200.0
RETRIED, PERMANENT = ("Throttling", "ServiceUnavailable"), ("MessageRejected", "MailFromDomainNotVerified")
STATUS = {"Throttling": 429, "ServiceUnavailable": 503}


@dataclass(slots=True)
class ScriptedSes:
    """Answers a mail to `code@...` with that code, one that can be tried again at its first attempt alone."""

    attempts: Counter[str] = field(default_factory=Counter)
    endpoint: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        [length] = [line for line in head.split(b"\r\n") if line.startswith(b"content-length")]
        asked = json.loads(await reader.readexactly(int(length.split(b":")[1])))
        code = asked["Destination"]["ToAddresses"][0].partition("@")[0]
        self.attempts[code] += 1
        refused = code in PERMANENT or (code in RETRIED and self.attempts[code] == 1)
        writer.write(answer(STATUS.get(code, 400), code) if refused else answer(200))
        await writer.drain()
        writer.close()


def answer(status: int, code: str | None = None) -> bytes:
    body = json.dumps({"message": "said"} if code else {"MessageId": "given-by-ses"})
    told = f"x-amzn-ErrorType: {code}\r\n" if code else ""
    kept = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close"
    return f"HTTP/1.1 {status} Said\r\n{told}{kept}\r\n\r\n{body}".encode()


@asynccontextmanager
async def scripted_ses() -> AsyncIterator[ScriptedSes]:
    ses = ScriptedSes()
    server = await asyncio.start_server(ses.serve, "127.0.0.1", 0)
    ses.endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield ses


async def queued(stage: Stage) -> Mapping[str, Mail]:
    """A mail for each code, on its way in the engine."""
    app, codes = stage.app, (*RETRIED, *PERMANENT)
    now, queue = await app.clock.now(), app.mail.queue
    async with app.store.transaction() as tx:
        made = {code: await queue.add(tx, asked_for(stage, code), now) for code in codes}
    assert await queue.start(list(made.values()), now) == len(codes)
    return made


def asked_for(stage: Stage, code: str) -> MailRequest:
    content = MailContent(f"{code}@mailbox.example", "permanent-error", "pt", {"claimId": "CLM-1-1"})
    return MailRequest(outbox_id("ses", stage.run_id, code), content)


async def over(stage: Stage, mail: Mail) -> Mail:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            found = await stage.app.store.look(lambda tx: tx.mails.find(mail.outbox_id))
            if found and found.state is not MailState.PENDING:
                break
            await asyncio.sleep(LOOK_SECONDS)
    instance = stage.records.instance_with("outboxId", mail.outbox_id)
    await stage.ended(Claim(stage.new_claim_id(), instance))
    return found


async def test_each_code_of_ses_is_waited_for_or_dead_lettered_as_the_document_says(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    async with scripted_ses() as ses:
        server = {"ses_region": "sa-east-1", "ses_endpoint": ses.endpoint}
        async with mailing_by(stage, server, tmp_path) as there:
            ended = {code: await over(there, mail) for code, mail in (await queued(there)).items()}
            letters = {
                code: await there.app.store.look(lambda tx, mail=mail: tx.dead_letters.find(mail.outbox_id))  # type: ignore[misc]
                for code, mail in ended.items()
            }
    for code in RETRIED:
        [failed] = stage.records.of_instance(instance_of(stage, ended[code]), "JOB", "FAILED")
        held = timedelta(milliseconds=failed.value["retryBackoff"])
        assert held == wait_after(ended[code].outbox_id, 1, PROFILES["03"])
        assert (ended[code].state, ended[code].attempts, letters[code]) == (MailState.SENT, 2, None)
    for code in PERMANENT:
        letter = letters[code]
        assert letter is not None
        assert (letter.last_failure_code, letter.failed_attempts) == (code, 1)
        assert ended[code].state is MailState.FAILED
        assert "End_EmailDeadLettered" in stage.records.completed(instance_of(stage, ended[code]))
    assert {code: ses.attempts[code] for code in ended} == {
        code: 2 if code in RETRIED else 1 for code in ended
    }


def instance_of(stage: Stage, mail: Mail) -> int:
    return stage.records.instance_with("outboxId", mail.outbox_id)
