"""Each code of the documents, dropped and stalled connections, lost answers: on a real broker and server."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from domain.mail.dead_letters import DeadLetter
from domain.mail.mail import MAIL_LIFE, Mail, MailContent, MailState, message_id, outbox_id
from domain.mail.retry import PROFILES, wait_after
from gateways.practice.mail_server import (
    DropMail,
    Mailbox,
    MailStep,
    Reply,
    StallMail,
    TakeInSilence,
    mail_server,
)
from tests.process.mail_post import mailing
from tests.process.records import Record
from tests.process.stage import LOOK_SECONDS, Claim, Stage
from workers.mail.queueing import MailRequest

PATIENCE_SECONDS = 400.0
RETRIED = ("421", "450", "451", "452", "550 4.2.1")
PERMANENT = ("500", "501", "502", "503", "550", "550 5.1.1", "551", "552", "553", "554")
TROUBLE: Mapping[str, MailStep] = {
    "CONNECTION_LOST": DropMail(),
    "TIMEOUT": StallMail(),
    "ANSWER_LOST-drop": DropMail("DATA"),
    "ANSWER_LOST-stall": StallMail("DATA"),
    "ANSWER_LOST-taken": TakeInSilence(),
}


@dataclass(frozen=True)
class Answers:
    """The stage, and a server that treats each mailbox in its own way."""

    stage: Stage
    mailbox: Mailbox

    async def queue(self, *names: str, ago: timedelta = timedelta()) -> dict[str, Mail]:
        """A mail to the mailbox of each name, on its way in the engine."""
        app = self.stage.app
        now = await app.clock.now()
        async with app.store.transaction() as tx:
            made = {name: await app.mail.queue.add(tx, self._request(name), now - ago) for name in names}
        assert await app.mail.queue.start(list(made.values()), now) == len(made)
        return made

    def _request(self, name: str) -> MailRequest:
        content = MailContent(address(name), "permanent-error", "pt", {"claimId": "CLM-1-1"})
        return MailRequest(outbox_id("answers", self.stage.run_id, name), content)

    async def over(self, mail: Mail) -> Mail:
        """The mail once it is SENT or FAILED, and its process has ended."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (found := await self._found(mail)).state is MailState.PENDING:
                await asyncio.sleep(LOOK_SECONDS)
        await self.stage.ended(Claim(self.stage.new_claim_id(), self.instance(mail)))
        return found

    async def _found(self, mail: Mail) -> Mail:
        found = await self.stage.app.store.look(lambda tx: tx.mails.find(mail.outbox_id))
        assert found is not None
        return found

    def instance(self, mail: Mail) -> int:
        return self.stage.records.instance_with("outboxId", mail.outbox_id)

    def failed_jobs(self, mail: Mail) -> list[Record]:
        """The waits that the engine was given to hold."""
        return self.stage.records.of_instance(self.instance(mail), "JOB", "FAILED")

    async def letter(self, mail: Mail) -> DeadLetter:
        found = await self.stage.app.store.look(lambda tx: tx.dead_letters.find(mail.outbox_id))
        assert found is not None
        return found


def address(name: str) -> str:
    return f"{name.replace(' ', '-').lower()}@mailbox.example"


@asynccontextmanager
async def answering(
    stage: Stage, folder: Path, steps: Mapping[str, MailStep], *, times: int
) -> AsyncIterator[Answers]:
    """A server that does so at the first attempts for each mailbox, and takes what else comes."""
    by_address = {address(name): step for name, step in steps.items()}

    def script(to: str, attempt: int) -> MailStep:
        return by_address.get(to) if attempt <= times else None

    async with mail_server(Mailbox(script=script)) as mailbox, mailing(stage, mailbox, folder) as there:
        yield Answers(there, mailbox)


@pytest.mark.timeout(3 * PATIENCE_SECONDS)
async def test_each_code_is_waited_for_or_dead_lettered_as_the_documents_say(
    stage: Stage, tmp_path: Path
) -> None:
    says = {code: Reply(f"{code} said") for code in (*RETRIED, *PERMANENT)}
    async with answering(stage, tmp_path, says, times=100) as post:
        queued = await post.queue(*says)
        ended = {code: await post.over(mail) for code, mail in queued.items()}
        for code, mail in ended.items():
            attempts = 5 if code in RETRIED else 1
            waits = [wait_after(mail.outbox_id, n, PROFILES["03"]) for n in range(1, attempts)]
            held = [timedelta(milliseconds=one.value["retryBackoff"]) for one in post.failed_jobs(mail)]
            letter = await post.letter(mail)
            assert mail.state is MailState.FAILED
            assert held == waits, code
            assert (letter.last_failure_code, letter.failed_attempts) == (code[:3], attempts)
            assert letter.last_failure_reason.startswith(f"SMTP {code}")
            assert post.mailbox.attempts[address(code)] == attempts
            assert post.stage.records.variables(post.instance(mail))["emailStatus"] == "FAILED"
            assert "End_EmailDeadLettered" in post.stage.records.completed(post.instance(mail))


@pytest.mark.timeout(3 * PATIENCE_SECONDS)
async def test_dropped_stalled_and_lost_answers_are_sent_again_under_the_same_message_id(
    stage: Stage, tmp_path: Path
) -> None:
    async with answering(stage, tmp_path, TROUBLE, times=1) as post:
        queued = await post.queue(*TROUBLE)
        ended = {name: await post.over(mail) for name, mail in queued.items()}
        for name, mail in ended.items():
            first = post.failed_jobs(mail)[0].value
            copies = [one for one in post.mailbox.arrived if one.to == (address(name),)]
            assert first["errorMessage"].startswith(f"Attempt 1: {name.partition('-')[0]}: "), name
            held = timedelta(milliseconds=first["retryBackoff"])
            assert held == wait_after(mail.outbox_id, 1, PROFILES["03"])
            assert mail.state is MailState.SENT
            assert {one.message_id for one in copies} == {message_id(mail.outbox_id, "hospital.example")}
            assert sum(one.is_answered for one in copies) >= 1
        silent = [one for one in post.mailbox.arrived if not one.is_answered]
        assert [one.to for one in silent] == [(address("ANSWER_LOST-taken"),)]


async def test_a_mail_that_has_waited_for_24_hours_is_dead_lettered_and_not_sent_late(
    stage: Stage, tmp_path: Path
) -> None:
    async with answering(stage, tmp_path, {}, times=0) as post:
        late = await post.queue("late", ago=MAIL_LIFE)
        in_time = await post.queue("in-time", ago=MAIL_LIFE / 2)
        letter = await post.letter(await post.over(late["late"]))
        assert (letter.last_failure_code, letter.failed_attempts) == ("EXPIRED", 1)
        assert (await post.over(in_time["in-time"])).state is MailState.SENT
        assert (address("late"),) not in [one.to for one in post.mailbox.arrived]
