"""From a notice to an arrived mail, and what becomes of one that cannot arrive."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from domain.mail.attempts import MailHeldBack
from domain.mail.codes import MailFailure, OwnCode
from domain.mail.mail import MAIL_LIFE, MailContent, MailState, outbox_id
from domain.mail.retry import PROFILES, wait_after
from domain.mail.sending import MailNotSent, MailResult, RenderedMail
from domain.redaction import redact
from domain.standing import HeldJob
from gateways.practice.mail_server import DropMail, Mailbox, MailStep, Reply, StallMail, TakeInSilence
from persistence.repositories.mails import mail_context
from persistence.store import Store, Transaction
from tests.support.builders import NOW
from tests.support.mail_stage import MailStage, mail_stage
from tests.support.mails import CIPHER, CONTENT, a_mail, fill_dead_letters
from tests.support.patients import dump
from workers.mail.sending import TEXT_AWAITED, MailHeld
from workers.runtime.outcome import Complete, Incident, Outcome, Postpone, Throw

SENT = Complete({"emailStatus": "SENT"})
MAIL = outbox_id("notify", 1, "CLM-001-1")


def failing(*steps: MailStep) -> Mailbox:
    """Each attempt meets its step; those beyond are taken."""

    def script(_address: str, attempt: int) -> MailStep:
        return steps[attempt - 1] if attempt <= len(steps) else None

    return Mailbox(script=script)


def always(step: MailStep, only: str = "") -> Mailbox:
    return Mailbox(script=lambda address, _attempt: step if address.startswith(only) else None)


async def until_over(stage: MailStage, mail: str = MAIL) -> list[Outcome]:
    """Deliver the mail's job as the engine does: again after each wait."""
    outcomes: list[Outcome] = []
    while len(outcomes) < 20:
        outcomes.append(await stage.send(mail))
        if not isinstance(outcomes[-1], Postpone):
            break
        stage.clock.pass_by(outcomes[-1].backoff)
    return outcomes


async def test_a_notice_is_queued_with_its_journal_line_started_and_sent(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        assert await stage.notify() == Complete()
        [started] = stage.engine.messages
        assert started.variables == {
            "outboxId": MAIL, "lane": "0", "companyId": "company-1", "claimId": "CLM-001-1"
        }  # fmt: skip
        assert await stage.send(MAIL) == SENT
        [arrived] = stage.mailbox.arrived
        assert arrived.to == ("billing@hospital.example",)
        assert arrived.message_id == f"<{MAIL}@hospital.example>"
        mail = await stage.found(MAIL)
        assert (mail.state, mail.attempts, mail.message_id) == (MailState.SENT, 1, arrived.message_id)
        async with store.reading() as tx:
            [line] = await tx.journal.of_claim("CLM-001-1")
        assert (line.event, line.detail) == ("notified", "BILLING_MANAGEMENT")


async def test_a_notice_belongs_to_the_company_that_its_process_names(store: Store) -> None:
    headers = {"recipientGroup": "BILLING_MANAGEMENT", "template": "permanent-error"}
    async with mail_stage(store, Mailbox()) as stage:
        processes: list[dict[str, str | None]] = [{"companyId": "clinic-7"}, {}, {"companyId": None}]
        for key, named in enumerate(processes, start=1):
            await stage.run("notify", key=key, headers=headers, claimId="CLM-001-1", **named)
        assert [one.variables["companyId"] for one in stage.engine.messages] == [
            "clinic-7", "company-1", "company-1"
        ]  # fmt: skip
        mail = await stage.found(MAIL)
        assert (mail.company_id, mail.lane) == ("clinic-7", "0")


@pytest.mark.parametrize("named", [42, "", "a b", "x" * 65, {"id": "a"}, "529.982.247-25"])
async def test_a_company_named_in_another_way_holds_no_claim_up(store: Store, named: object) -> None:
    headers = {"recipientGroup": "BILLING_MANAGEMENT", "template": "permanent-error"}
    async with mail_stage(store, Mailbox()) as stage:
        with capture_logs() as lines:
            done = await stage.run("notify", headers=headers, claimId="CLM-001-1", companyId=named)
        assert done == Complete()
        assert (await stage.found(MAIL)).company_id == "company-1"
        [told] = [line for line in lines if line["event"] == "notice_company_unfit"]
        assert str(named) not in told["why"] or named == ""


async def test_a_mail_that_a_limit_holds_waits_in_the_engine_and_spends_no_attempt(store: Store) -> None:
    full = [timedelta(seconds=7)]

    async def admit(_tx: Transaction, company_id: str, _now: datetime) -> timedelta | None:
        assert company_id == "company-1"
        return full.pop() if full else None

    async with mail_stage(store, Mailbox(), admit=admit) as stage:
        await stage.notify()
        held = HeldJob(42, 3, NOW + timedelta(minutes=1))
        assert await stage.mail.sender.attempt(MAIL, held) == MailHeld(timedelta(seconds=7))
        mail = await stage.found(MAIL)
        assert (mail.attempts, mail.sending_until, mail.last_failure_code) == (0, None, None)
        assert (mail.job_key, mail.job_until) == (42, held.until + timedelta(seconds=7))
        full.append(timedelta(seconds=3))
        held_back = await stage.send(MAIL)
        assert isinstance(held_back, Postpone)
        assert held_back.backoff == timedelta(seconds=3)
        assert await stage.send(MAIL) == SENT
        assert len(stage.mailbox.arrived) == 1


async def test_a_notify_job_that_is_delivered_again_queues_one_mail(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        for _ in range(3):
            await stage.notify()
        await stage.notify("CLM-001-2", key=2)
        assert [message.message_id for message in stage.engine.messages] == [
            f"{MAIL}/0", f"{outbox_id('notify', 2, 'CLM-001-2')}/0"
        ]  # fmt: skip
        assert await store.look(lambda tx: tx.mails.by_state()) == {MailState.PENDING: 2}


async def test_a_send_job_that_is_delivered_again_sends_nothing_more(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        await stage.notify()
        assert [await stage.send(MAIL) for _ in range(3)] == [SENT] * 3
        assert len(stage.mailbox.arrived) == 1


async def test_a_start_that_got_lost_is_made_good_later(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        stage.engine.is_away = True
        assert await stage.notify() == Complete()
        stage.engine.is_away = False
        assert await stage.run("start-emails") == Complete({"processedCount": 0})
        stage.clock.pass_by(timedelta(minutes=2))
        assert await stage.run("start-emails") == Complete({"processedCount": 1})
        assert await stage.run("start-emails") == Complete({"processedCount": 0})
        assert len(stage.engine.messages) == 1


async def test_a_mail_whose_process_is_gone_dies_of_age_and_is_not_forgotten(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        await stage.notify()
        stage.clock.pass_by(MAIL_LIFE + timedelta(minutes=2))
        stage.engine.is_away = True
        assert await stage.run("start-emails") == Complete({"processedCount": 1})
        letter = await store.look(lambda tx: tx.dead_letters.find(MAIL))
        assert letter is not None
        assert isinstance(await stage.send(MAIL), Throw)
        assert (letter.last_failure_code, letter.failed_attempts) == (OwnCode.EXPIRED, 1)
        assert stage.mailbox.arrived == []


async def test_the_waits_between_attempts_are_the_documents_and_the_engines(store: Store) -> None:
    async with mail_stage(store, always(Reply("421 4.3.2 not now"), "billing@")) as stage:
        await stage.notify()
        outcomes = await until_over(stage)
        waits = [outcome.backoff for outcome in outcomes if isinstance(outcome, Postpone)]
        assert waits == [wait_after(MAIL, attempt, PROFILES["03"]) for attempt in range(1, 5)]
        assert outcomes[-1] == Throw(
            "EMAIL_DEAD_LETTERED", "SMTP 421 4.3.2: service not available", {"emailStatus": "FAILED"}
        )
        assert stage.mailbox.attempts["billing@hospital.example"] == 5
        letter = await store.look(lambda tx: tx.dead_letters.find(MAIL))
        assert letter is not None
        assert (letter.failed_attempts, letter.last_failure_code) == (5, "421")
        assert isinstance(await stage.send(MAIL), Throw)


@pytest.mark.parametrize("profile", ["02-development"])
async def test_another_profile_has_its_own_number_of_attempts(store: Store, profile: str) -> None:
    async with mail_stage(store, always(Reply("451 later"), "billing@"), profile=profile) as stage:
        await stage.notify()
        assert len(await until_over(stage)) == 3


async def test_a_permanent_error_is_dead_lettered_at_once(store: Store) -> None:
    async with mail_stage(
        store, always(Reply("550 5.1.1 <billing@hospital.example> unknown"), "billing@")
    ) as stage:
        await stage.notify()
        assert len(await until_over(stage)) == 1
        mail = await stage.found(MAIL)
        assert (mail.state, mail.attempts) == (MailState.FAILED, 1)
        assert mail.last_failure_reason == "SMTP 550 5.1.1: mailbox unavailable"
        assert mail.said is not None
        assert "unknown" in CIPHER.decrypt(mail.said, context=mail_context(MAIL))
        async with store.reading() as tx:
            story = [entry.event for entry in await tx.journal.of_claim("CLM-001-1")]
        assert story == ["notified", "mail_dead_lettered"]


async def test_a_refused_login_holds_mail_back_at_no_cost_and_says_so_until_its_day_is_over(
    store: Store,
) -> None:
    async with mail_stage(store, always(Reply("535 5.7.8 ana is locked"), "billing")) as stage:
        await stage.notify()
        with capture_logs() as logs:
            for _ in range(7):
                held = await stage.send(MAIL)
                assert isinstance(held, Postpone)
                assert ("MAIL_SMTP_PASSWORD" in held.message, held.backoff) == (True, timedelta(minutes=5))
                stage.clock.pass_by(held.backoff)
        told = [line for line in logs if line["event"] == "mail_held_back"]
        assert {(line["errorCode"], line["log_level"]) for line in told} == {("535", "error")}
        assert len(told) == 7
        assert (await stage.found(MAIL)).attempts == 0
        stage.clock.pass_by(MAIL_LIFE)
        assert isinstance(await stage.send(MAIL), Throw)
        letter = await store.look(lambda tx: tx.dead_letters.find(MAIL))
        assert letter is not None
        assert letter.last_failure_code == OwnCode.EXPIRED
        assert "535" in letter.last_failure_reason


async def test_a_mail_that_was_held_back_leaves_once_the_login_is_taken(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        await stage.notify()
        refused = replace(stage.mail.sender, gateway=Refusing())
        assert isinstance(await refused.attempt(MAIL), MailHeldBack)
        stage.clock.pass_by(timedelta(minutes=5))
        assert await stage.send(MAIL) == SENT
        assert (await stage.found(MAIL)).attempts == 1


class Refusing:
    """A gateway whose login is refused."""

    async def send(self, _mail: RenderedMail) -> MailResult:
        return MailNotSent(MailFailure("535"))

    async def close(self) -> None:
        """Nothing is open."""


async def test_administrator_and_company_are_told_of_a_dead_letter_once_an_hour(store: Store) -> None:
    async with mail_stage(store, always(Reply("554 no"), "billing@")) as stage:
        for key in (1, 2):
            await stage.notify(key=key)
            await stage.send(outbox_id("notify", key, "CLM-001-1"))
        assert len(stage.engine.messages) == 4
        notices = [message.variables["outboxId"] for message in stage.engine.messages[1:3]]
        for notice in notices:
            assert await stage.send(notice) == SENT
        told = {to for arrived in stage.mailbox.arrived for to in arrived.to}
        assert told == {"admin@hospital.example", "people@company.example"}
        assert MAIL in stage.mailbox.arrived[0].content.decode()
        stage.clock.pass_by(timedelta(hours=1))
        await stage.notify(key=3)
        await stage.send(outbox_id("notify", 3, "CLM-001-1"))
        assert len(stage.engine.messages) == 7


async def test_a_dead_letter_notice_that_dies_makes_no_further_notice(store: Store) -> None:
    async with mail_stage(store, always(Reply("554 no"))) as stage:
        await stage.notify()
        await stage.send(MAIL)
        notices = [message.variables["outboxId"] for message in stage.engine.messages][1:]
        for notice in notices:
            assert isinstance(await stage.send(notice), Throw)
        assert len(stage.engine.messages) == 3
        assert await store.look(lambda tx: tx.dead_letters.count()) == 3


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (DropMail(), OwnCode.CONNECTION_LOST),
        (StallMail(), OwnCode.TIMEOUT),
        (DropMail("DATA"), OwnCode.ANSWER_LOST),
        (StallMail("DATA"), OwnCode.ANSWER_LOST),
        (TakeInSilence(), OwnCode.ANSWER_LOST),
        (Reply("450 4.2.0 busy"), "450"),
        (Reply("452 4.3.1 full", "DATA"), "452"),
        (Reply("550 4.2.1 busy"), "550"),
    ],
)
async def test_after_passing_trouble_the_mail_arrives_under_the_same_message_id(
    store: Store, step: MailStep, code: str
) -> None:
    async with mail_stage(store, failing(step), seconds=2) as stage:
        await stage.notify()
        first, last = await until_over(stage)
        assert isinstance(first, Postpone)
        assert last == SENT
        mail = await stage.found(MAIL)
        assert (mail.attempts, mail.last_failure_code) == (2, code)
        copies = stage.mailbox.arrived
        assert len(copies) == 1 + stage.mailbox.lost_answers
        assert {copy.message_id for copy in copies} == {f"<{MAIL}@hospital.example>"}


async def test_a_worker_that_died_while_sending_spent_its_attempt_and_another_goes_on(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        lease = stage.mail.sender.terms.lease
        await stage.add(a_mail(attempts=1, sending_until=stage.clock.at + lease))
        waits = await stage.send(a_mail().outbox_id)
        assert isinstance(waits, Postpone)
        assert lease < waits.backoff < lease + timedelta(seconds=2)
        assert stage.mailbox.arrived == []
        stage.clock.pass_by(waits.backoff)
        assert await stage.send(a_mail().outbox_id) == SENT
        mail = await stage.found(a_mail().outbox_id)
        assert (mail.attempts, mail.last_failure_code) == (2, OwnCode.WORKER_LOST)


async def test_one_whose_workers_died_at_every_attempt_is_dead_lettered(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(a_mail(attempts=5, sending_until=stage.clock.at))
        assert isinstance(await stage.send(a_mail().outbox_id), Throw)
        letter = await store.look(lambda tx: tx.dead_letters.find(a_mail().outbox_id))
        assert letter is not None
        assert (letter.failed_attempts, letter.last_failure_code) == (5, OwnCode.WORKER_LOST)
        assert stage.mailbox.arrived == []


async def test_a_failure_that_comes_late_does_not_undo_that_another_worker_sent_it(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        sent = a_mail(attempts=2, state=MailState.SENT)
        await stage.add(sent)
        begun = replace(sent, state=MailState.PENDING, attempts=1)
        late = MailNotSent(MailFailure("421"))
        await store.run(lambda tx: stage.mail.sender._settle(tx, begun, late, stage.clock.at))
        assert (await stage.found(sent.outbox_id)).state is MailState.SENT


async def test_a_mail_that_is_redriven_and_arrives_leaves_the_dead_letters(store: Store) -> None:
    async with mail_stage(store, failing(Reply("554 no"))) as stage:
        await stage.notify()
        await stage.send(MAIL)
        dead = await stage.found(MAIL)
        assert dead.dead_lettered_at is not None
        stage.clock.pass_by(timedelta(days=3))
        await store.run(lambda tx: tx.mails.save(dead.requeued(stage.clock.at)))
        assert await stage.send(MAIL) == SENT
        assert await store.look(lambda tx: tx.dead_letters.find(MAIL)) is None


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (replace(CONTENT, template="no-such-text"), OwnCode.NO_TEMPLATE),
        (replace(CONTENT, recipient="OPERATIONS"), OwnCode.NO_RECIPIENT),
    ],
)
async def test_a_mail_without_text_or_recipient_is_dead_lettered_with_that_reason(
    store: Store, content: MailContent, code: str
) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(a_mail(content=content))
        stage.clock.pass_by(TEXT_AWAITED)
        assert isinstance(await stage.send(a_mail().outbox_id), Throw)
        assert (await stage.found(a_mail().outbox_id)).last_failure_code == code


async def test_a_text_of_a_newer_version_waits_for_a_worker_that_has_it_and_spends_no_attempt(
    store: Store,
) -> None:
    newer = replace(CONTENT, template="of-a-newer-version")
    async with mail_stage(store, Mailbox()) as stage:
        await stage.add(a_mail(content=newer))
        stage.clock.pass_by(TEXT_AWAITED - timedelta(seconds=1))
        held = await stage.send(a_mail().outbox_id)
        assert isinstance(held, Postpone)
        assert "A newer one may have it" in held.message
        kept = await stage.found(a_mail().outbox_id)
        assert (kept.state, kept.attempts, kept.last_failure_code) == (MailState.PENDING, 0, None)


async def test_an_unknown_mail_is_an_incident(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        assert isinstance(await stage.send("nobody's"), Incident)


async def test_a_missing_key_is_an_incident_and_spends_no_attempt(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        other = a_mail(sealed=a_mail().sealed.replace("g1:test:", "g1:lost:"))
        await stage.add(other)
        assert isinstance(await stage.send(other.outbox_id), Incident)
        kept = await stage.found(other.outbox_id)
        assert (kept.attempts, kept.sending_until) == (0, None)


async def test_when_the_dead_letters_are_full_the_mail_stays_failed_with_its_reason_and_an_alarm(
    store: Store, database: AsyncEngine
) -> None:
    await fill_dead_letters(database)
    async with mail_stage(store, always(Reply("554 no"), "billing@")) as stage:
        await stage.notify()
        with capture_logs() as logs:
            assert isinstance(await stage.send(MAIL), Throw)
        assert "dead_letters_full" in {line["event"] for line in logs if line["log_level"] == "error"}
        [mail] = await store.look(lambda tx: tx.mails.without_room(10))
        assert (mail.outbox_id, mail.last_failure_reason) == (MAIL, "SMTP 554: transaction failed")
        assert await stage.run("start-emails") == Complete({"processedCount": 0})
        await store.run(lambda tx: tx.dead_letters.remove(["0", "1"]))
        assert await stage.run("start-emails") == Complete({"processedCount": 1})
        letter = await store.look(lambda tx: tx.dead_letters.find(MAIL))
        assert letter is not None
        assert letter.last_failure_reason == mail.last_failure_reason
        assert await store.look(lambda tx: tx.mails.without_room(10)) == []


WRONG = [
    *({"recipientGroup": "everybody"}, {"template": ""}, {"template": "Maria da Silva"}),
    *({"companyId": "a b"}, {"companyId": "529.982.247-25"}, {"claimId": "x"}),
]


async def test_a_process_asks_for_a_mail_once_per_job(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        asked: dict[str, Any] = {
            "recipientGroup": "ADMINISTRATOR",
            "template": "dead-letter",
            "companyId": "company-1",
        }
        first = await stage.run("queue-email", key=7, **asked)
        assert await stage.run("queue-email", key=7, **asked) == first
        assert isinstance(first, Complete)
        assert first.variables["lane"] == "0"
        assert stage.engine.messages == []
        assert await stage.send(first.variables["outboxId"]) == SENT


async def test_who_sends_here_is_told_of_a_mail_that_a_process_asks_for(store: Store) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        source = stage.mail.lanes.source
        asked: dict[str, Any] = {"recipientGroup": "ADMINISTRATOR", "template": "dead-letter"}
        waiting = asyncio.create_task(source.until_changed(3600))
        await asyncio.sleep(0)
        await stage.run("queue-email", key=7, **asked)
        await asyncio.wait_for(waiting, 20)


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_request_that_does_not_fit_is_an_incident(store: Store, wrong: dict[str, str]) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        good: dict[str, Any] = {"recipientGroup": "OPERATIONS", "template": "permanent-error"}
        refused = await stage.run("queue-email", **(good | wrong))
    assert isinstance(refused, Incident)
    assert redact(refused.message) == refused.message, "it reaches people as it is"
    assert next(iter(wrong)) in refused.message
    assert refused.message.endswith("in Operate, then retry.")


async def test_no_address_and_no_word_of_a_server_is_kept_or_logged_in_clear(
    store: Store, database: AsyncEngine
) -> None:
    said = "550 5.1.1 <billing@hospital.example>: Maria da Silva has left"
    async with mail_stage(store, always(Reply(said), "billing@")) as stage:
        await stage.notify()
        with capture_logs() as logs:
            outcome = await stage.send(MAIL)
    for text in (await dump(database), str(logs), str(outcome)):
        assert "Maria" not in text
        assert "billing@" not in text
