"""SMTP against a real server: what each answer, and each silence, is taken for."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from domain.mail.codes import FailureKind, OwnCode
from domain.mail.sending import MailAnswerLost, MailNotSent, MailSent, RenderedMail
from gateways.mail.smtp import SmtpMail, SmtpServer
from gateways.practice.mail_server import (
    DropMail,
    Mailbox,
    MailServerTerms,
    MailStep,
    Reply,
    StallMail,
    TakeInSilence,
    mail_server,
)
from tests.support.builders import NOW
from tests.support.certificates import authority, server_side, signed

MAIL = RenderedMail(
    "8d7", "<8d7@hospital.example>", NOW, ("ana@hospital.example",), "Cobrança", "Texto: ação", "<p>ação</p>"
)
SENDER = "reenvio@hospital.example"


@asynccontextmanager
async def line_to(
    mailbox: Mailbox, terms: MailServerTerms | None = None, **changes: object
) -> AsyncIterator[SmtpMail]:
    async with mail_server(mailbox, terms):
        plain = SmtpServer("127.0.0.1", mailbox.port, SENDER, security="none")
        mail = SmtpMail(replace(plain, **changes))  # type: ignore[arg-type]
        yield mail
        await mail.close()


def always(step: MailStep) -> Mailbox:
    return Mailbox(script=lambda _address, _attempt: step)


async def test_a_mail_arrives_with_text_html_and_its_derived_message_id() -> None:
    mailbox = Mailbox()
    async with line_to(mailbox) as line:
        assert await line.send(MAIL) == MailSent(MAIL.message_id)
    [arrived] = mailbox.arrived
    message = arrived.message
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert text is not None
    assert html is not None
    assert (arrived.to, arrived.message_id) == (MAIL.to, MAIL.message_id)
    assert (message["Subject"], message["From"], message["Auto-Submitted"]) == (
        "Cobrança", SENDER, "auto-generated"
    )  # fmt: skip
    assert (text.get_content().strip(), html.get_content().strip()) == (MAIL.text, MAIL.html)
    assert arrived.content.isascii()


async def test_connections_are_used_again() -> None:
    mailbox = Mailbox()
    async with line_to(mailbox) as line:
        for _ in range(5):
            await line.send(MAIL)
    assert (len(mailbox.arrived), mailbox.connections) == (5, 1)


async def test_a_connection_that_the_server_closed_meanwhile_costs_no_attempt() -> None:
    mailbox = Mailbox()
    async with mail_server(mailbox):
        line = SmtpMail(SmtpServer("127.0.0.1", mailbox.port, SENDER, security="none"))
        await line.send(MAIL)
    async with mail_server(mailbox):  # it was restarted
        assert isinstance(await line.send(MAIL), MailSent)
        await line.close()
    assert (len(mailbox.arrived), mailbox.connections) == (2, 2)


CODES = [
    *((code, FailureKind.RETRYABLE) for code in ("421", "450", "451", "452")),
    *((code, FailureKind.PERMANENT) for code in ("500", "501", "502", "503", "550")),
    *((code, FailureKind.PERMANENT) for code in ("551", "552", "553", "554")),
    ("550 4.2.1", FailureKind.RETRYABLE),
    ("550 5.1.1", FailureKind.PERMANENT),
]  # fmt: skip


@pytest.mark.parametrize("stage", ["RCPT", "DATA"])
@pytest.mark.parametrize(("code", "kind"), CODES)
async def test_every_code_of_the_documents_means_what_they_say_wherever_it_comes(
    code: str, kind: FailureKind, stage: str
) -> None:
    step = Reply(f"{code} said <ana@hospital.example>", "RCPT" if stage == "RCPT" else "DATA")
    async with line_to(mailbox := always(step)) as line:
        result = await line.send(MAIL)
    assert isinstance(result, MailNotSent)
    assert (result.failure.code, result.failure.kind) == (code[:3], kind)
    assert "ana@" in result.failure.said
    assert "ana@" not in result.failure.reason
    assert mailbox.arrived == []


async def test_a_connection_dropped_before_the_text_left_is_no_lost_answer() -> None:
    async with line_to(always(DropMail())) as line:
        result = await line.send(MAIL)
    assert isinstance(result, MailNotSent)
    assert result.failure.code == OwnCode.CONNECTION_LOST


@pytest.mark.parametrize("step", [DropMail("DATA"), StallMail("DATA"), TakeInSilence()])
async def test_silence_after_the_text_has_left_is_a_lost_answer(step: MailStep) -> None:
    async with line_to(mailbox := always(step), seconds=0.5) as line:
        result = await line.send(MAIL)
    assert isinstance(result, MailAnswerLost)
    assert (result.failure.code, result.failure.kind) == (OwnCode.ANSWER_LOST, FailureKind.RETRYABLE)
    assert len(mailbox.arrived) == isinstance(step, TakeInSilence)


async def test_a_server_that_stalls_before_the_text_is_a_time_out() -> None:
    async with line_to(always(StallMail()), seconds=0.5) as line:
        result = await line.send(MAIL)
    assert isinstance(result, MailNotSent)
    assert result.failure.code == OwnCode.TIMEOUT


async def test_nobody_listening_is_no_connection() -> None:
    async with mail_server(Mailbox()) as mailbox:
        port = mailbox.port
    result = await SmtpMail(SmtpServer("127.0.0.1", port, SENDER, security="none")).send(MAIL)
    assert isinstance(result, MailNotSent)
    assert result.failure.code == OwnCode.CONNECTION_FAILED


async def test_of_several_recipients_all_are_taken_or_none_gets_it() -> None:
    def refuses_one(address: str, _attempt: int) -> MailStep:
        return Reply("550 5.1.1 unknown") if address.startswith("gone@") else None

    both = replace(MAIL, to=("ana@hospital.example", "gone@hospital.example"))
    async with line_to(mailbox := Mailbox(script=refuses_one)) as line:
        assert isinstance(await line.send(both), MailNotSent)
        assert mailbox.arrived == []
        assert isinstance(await line.send(MAIL), MailSent)


async def test_after_a_failure_the_next_mail_goes_out() -> None:
    def fails_once(_address: str, attempt: int) -> MailStep:
        return Reply("451 4.3.0 later", "DATA") if attempt == 1 else None

    async with line_to(mailbox := Mailbox(script=fails_once)) as line:
        assert isinstance(await line.send(MAIL), MailNotSent)
        assert isinstance(await line.send(MAIL), MailSent)
    assert len(mailbox.arrived) == 1


async def test_a_stopped_worker_leaves_no_connection_behind() -> None:
    async with line_to(always(StallMail())) as line:
        sending = asyncio.create_task(line.send(MAIL))
        await asyncio.sleep(0)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        assert line._idle == []


class Tls:
    """An authority, a server's certificate, and clients that trust the one."""

    def __init__(self, folder: Path) -> None:
        ca = authority(folder)
        self.server = server_side(signed(folder, "server", ca))
        self.client = ssl.create_default_context(cafile=str(ca.certificate))


@pytest.fixture
def tls(tmp_path: Path) -> Tls:
    return Tls(tmp_path)


def knows_ana(_mechanism: str, login: bytes | None, password: bytes | None) -> bool:
    return (login, password) == (b"ana", b"secret")


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_over_tls_with_a_login_a_mail_arrives(tls: Tls, security: str) -> None:
    terms = MailServerTerms(tls.server, tls_at_once=security == "tls", login=knows_ana)
    login = {"username": "ana", "password": "secret", "trusted": tls.client}
    async with line_to(mailbox := Mailbox(), terms, security=security, **login) as line:
        assert isinstance(await line.send(MAIL), MailSent)
    assert len(mailbox.arrived) == 1


async def test_a_refused_login_is_ours_to_mend_and_not_tried_again_for_every_mail(tls: Tls) -> None:
    tried = list[bytes | None]()

    def knows_nobody(_mechanism: str, login: bytes | None, _password: bytes | None) -> bool:
        tried.append(login)
        return False

    login = {"username": "ana", "password": "wrong", "trusted": tls.client}
    terms = MailServerTerms(tls.server, login=knows_nobody)
    async with line_to(Mailbox(), terms, security="starttls", **login) as line:
        first = await line.send(MAIL)
        asked = len(tried)
        second = await line.send(MAIL)
    assert isinstance(first, MailNotSent)
    assert isinstance(second, MailNotSent)
    assert (first.failure.code, first.failure.kind) == ("535", FailureKind.OURS)
    assert (second.failure.code, len(tried)) == ("535", asked)


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(tls: Tls, security: str) -> None:
    terms = MailServerTerms(tls.server, tls_at_once=security == "tls")
    async with line_to(mailbox := Mailbox(), terms, security=security) as line:
        result = await line.send(MAIL)
    assert isinstance(result, MailNotSent)
    assert result.failure.code == OwnCode.TLS_FAILED
    assert mailbox.arrived == []


async def test_a_server_without_starttls_gets_no_mail_in_clear() -> None:
    async with line_to(mailbox := Mailbox(), security="starttls") as line:
        result = await line.send(MAIL)
    assert isinstance(result, MailNotSent)
    assert mailbox.arrived == []


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(SmtpServer("h", 1, SENDER, password="secret"))
