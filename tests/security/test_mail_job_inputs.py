"""Jobs of mail with variables of a wrong kind, too large or of no mail: incidents that say so."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.mail.mail import MailState
from gateways.practice.mail_server import Mailbox
from persistence.store import Store
from tests.support.mail_stage import mail_stage
from tests.support.mails import CIPHER, a_mail
from tests.support.services import services
from workers.jobs import all_handlers
from workers.runtime import Job
from workers.runtime.outcome import Complete, Incident, Throw

ODD: list[object] = [7, 1.5, True, [], {"a": 1}, "x" * 1_000_000, "\x00", "\ud800", float("nan")]
ASKED: dict[str, Any] = {"recipientGroup": "ADMINISTRATOR", "template": "dead-letter"}


@pytest.mark.parametrize("name", ["recipientGroup", "template", "companyId", "claimId"])
async def test_a_request_of_a_wrong_kind_queues_nothing(store: Store, name: str) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        for value in ODD:
            outcome = await stage.run("queue-email", **ASKED | {name: value})
            assert isinstance(outcome, Incident), value
            assert name in outcome.message
            assert len(outcome.message) < 1_000
    assert await store.look(lambda tx: tx.mails.by_state()) == {}


async def test_a_send_job_of_a_wrong_kind_sends_nothing(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        for value in (None, "nobody's", *ODD):
            assert isinstance(await stage.run("send-email", outboxId=value), Incident), value
        assert isinstance(await stage.run("send-email"), Incident)
        assert stage.mailbox.arrived == []


@pytest.mark.parametrize("state", [MailState.SENT, MailState.FAILED])
async def test_an_old_job_of_a_mail_that_is_over_sends_nothing(store: Store, state: MailState) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(a_mail(state=state, attempts=1, last_failure_reason="why"))
        for _ in range(3):
            outcome = await stage.send(a_mail().outbox_id)
            assert isinstance(outcome, Complete if state is MailState.SENT else Throw)
        assert stage.mailbox.arrived == []


WAVE: dict[str, Any] = {
    "redriveCode": "421",
    "redriveWave": 1,
    "redriveSize": 5,
    "redriveSince": "2026-01-12T10:00:00+00:00",
}
WRONG_WAVES: list[dict[str, Any]] = [
    {"redriveSince": "0001-01-01T00:00:00+14:00"},
    {"redriveSince": "9999-12-31T23:59:59-14:00"},
    {"redriveSince": "yesterday"},
    {"redriveSize": -1},
    {"redriveSize": 2**40},
    {"redriveWave": 1.5},
    {"redriveCode": "x" * 65},
    {"redriveCode": ["421"]},
]


async def test_a_wave_that_cannot_have_been_is_an_incident_that_names_the_variable(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        mail = replace(stage.mail, cool_downs={"421": timedelta(minutes=5)})
        handlers = all_handlers(services(store, clock=stage.clock, cipher=CIPHER, mail=mail))
        [handler] = [one for one in handlers if one.type == "redrive-dead-letters"]
        for wrong in WRONG_WAVES:
            outcome = await handler.handle(Job(1, handler.type, "Task", 1, 3, {}, WAVE | wrong))
            assert isinstance(outcome, Incident), wrong
            assert next(iter(wrong)) in outcome.message
