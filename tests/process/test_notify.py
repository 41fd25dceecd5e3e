"""NOTIFY on a real broker with a real mail server: mail arrives, waits in the engine, or dies."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from domain.claim_state import ClaimState
from domain.mail.mail import Mail, MailState, outbox_id
from domain.mail.retry import PROFILES, wait_after
from gateways.practice.mail_server import DropMail, Mailbox, MailStep, Reply, TakeInSilence, mail_server
from gateways.practice.scripted import FailLine
from tests.process.mail_post import ADMIN, BILLING, COMPANY, mailing
from tests.process.stage import Claim, Stage, eventually

BAD_PROCEDURE = FailLine(error="INVALID_PROCEDURE_CODE", code="TISS:1801")
CALLER = """<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="D" targetNamespace="urn:test">
  <bpmn:process id="CALLER" isExecutable="true">
    <bpmn:startEvent id="Start"><bpmn:outgoing>F1</bpmn:outgoing></bpmn:startEvent>
    <bpmn:callActivity id="Call_Notify">
      <bpmn:extensionElements>
        <zeebe:calledElement processId="NOTIFY" propagateAllChildVariables="true" />
      </bpmn:extensionElements>
      <bpmn:incoming>F1</bpmn:incoming><bpmn:outgoing>F2</bpmn:outgoing>
    </bpmn:callActivity>
    <bpmn:endEvent id="End"><bpmn:incoming>F2</bpmn:incoming></bpmn:endEvent>
    <bpmn:sequenceFlow id="F1" sourceRef="Start" targetRef="Call_Notify" />
    <bpmn:sequenceFlow id="F2" sourceRef="Call_Notify" targetRef="End" />
  </bpmn:process>
</bpmn:definitions>
"""


@dataclass(frozen=True)
class Post:
    """The stage, and a mail server that follows the steps it is given."""

    stage: Stage
    mailbox: Mailbox
    steps: list[MailStep]

    async def mail_of(self, claim: Claim, state: MailState) -> Mail:
        """The claim's mail, once it is in a state."""

        async def look() -> Mail | None:
            jobs = self.stage.records.of_instance(claim.instance, "JOB", "CREATED")
            [key] = [job.key for job in jobs if job.value["type"] == "notify"]
            mine = outbox_id("notify", key, claim.id.value)
            mail = await self.stage.app.store.look(lambda tx: tx.mails.find(mine))
            return mail if mail and mail.state is state else None

        return await eventually(look, f"the mail of {claim.id} {state}")

    def instance_of(self, mail: Mail) -> int:
        """The NOTIFY instance that sent it."""
        return self.stage.records.instance_with("outboxId", mail.outbox_id)

    async def refused(self) -> Claim:
        """A claim that its payer refuses for good: a team is told."""
        claim = await self.stage.start(BAD_PROCEDURE)
        await self.stage.reaches(claim, ClaimState.IN_REVIEW)
        return claim


@pytest.fixture
async def post(stage: Stage, tmp_path: Path) -> AsyncIterator[Post]:
    steps: list[MailStep] = []

    def script(address: str, _attempt: int) -> MailStep:
        return steps.pop(0) if steps and address == BILLING else None

    async with mail_server(Mailbox(script=script)) as mailbox, mailing(stage, mailbox, tmp_path) as there:
        yield Post(there, mailbox, steps)


async def test_a_claims_team_gets_a_mail_that_names_and_links_the_claim(post: Post) -> None:
    claim = await post.refused()
    mail = await post.mail_of(claim, MailState.SENT)
    [arrived] = [one for one in post.mailbox.arrived if claim.id.value in one.text]
    assert arrived.to == (BILLING,)
    assert arrived.message_id == mail.message_id
    assert f"https://console.hospital.example/claims/{claim.id}" in arrived.text
    path = await post.stage.ended(Claim(claim.id, post.instance_of(mail)))
    assert [one for one in path if not one.startswith("Flow_")] == [
        "Start_EmailQueued", "Gateway_QueuedMerge", "Task_SendEmail", "End_EmailSent"
    ]  # fmt: skip
    assert "hospital.example" not in str(post.stage.records.variables(post.instance_of(mail)))


async def test_the_engine_holds_the_waits_of_the_document(post: Post) -> None:
    post.steps.extend([Reply("421 4.3.2 later"), DropMail(), TakeInSilence()])
    claim = await post.refused()
    mail = await post.mail_of(claim, MailState.SENT)
    failed = post.stage.records.of_instance(post.instance_of(mail), "JOB", "FAILED")
    profile = PROFILES["03"]
    assert [record.value["retryBackoff"] for record in failed] == [
        round(wait_after(mail.outbox_id, attempt, profile).total_seconds() * 1_000) for attempt in (1, 2, 3)
    ]
    assert {record.value["retries"] for record in failed} == {3}
    copies = [one for one in post.mailbox.arrived if one.message_id == mail.message_id]
    assert len(copies) == 1 + post.mailbox.lost_answers == 2


async def test_what_cannot_be_delivered_is_a_dead_letter_of_which_administrator_and_company_are_told(
    post: Post,
) -> None:
    post.steps.append(Reply("550 5.1.1 no such mailbox"))
    claim = await post.refused()
    mail = await post.mail_of(claim, MailState.FAILED)
    path = await post.stage.ended(Claim(claim.id, post.instance_of(mail)))
    assert path[-1] == "End_EmailDeadLettered"
    assert post.stage.records.variables(post.instance_of(mail))["emailStatus"] == "FAILED"
    letter = await post.stage.app.store.look(lambda tx: tx.dead_letters.find(mail.outbox_id))
    assert letter is not None
    assert (letter.last_failure_code, letter.failed_attempts) == ("550", 1)

    async def told(whom: str) -> str | None:
        notices = [one for one in post.mailbox.arrived if one.to == (whom,)]
        return notices[-1].text if notices else None

    for whom in (ADMIN, COMPANY):
        assert mail.outbox_id in await eventually(partial(told, whom), f"the notice to {whom}")


async def test_another_process_calls_notify_and_learns_what_became_of_its_mail(
    post: Post, tmp_path: Path
) -> None:
    model = tmp_path / "CALLER.bpmn"
    model.write_text(CALLER, encoding="utf-8")
    await post.stage.app.commands.deploy(model)
    asked: dict[str, Any] = {"recipientGroup": "BILLING_MANAGEMENT", "template": "permanent-error"}
    sent = await post.stage.run("CALLER", **asked)
    await post.stage.completes(sent, "End")
    assert post.stage.records.variables(sent.instance)["emailStatus"] == "SENT"
    post.steps.append(Reply("554 no"))
    dead = await post.stage.run("CALLER", **asked)
    await post.stage.completes(dead, "End")
    assert post.stage.records.variables(dead.instance)["emailStatus"] == "FAILED"
