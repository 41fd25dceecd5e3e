"""Mail servers that say what no server should: every attempt ends, and is written down as what it was."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from domain.mail.attempts import MailDied, MailWaits
from domain.mail.codes import FailureKind, OwnCode
from domain.mail.mail import MailState
from domain.mail.sending import MailAnswerLost, MailNotSent, MailResult, MailSent, RenderedMail
from gateways.mail.smtp import Security, SmtpMail, SmtpServer
from gateways.practice.mail_server import Mailbox
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.mail_stage import MailStage, mail_stage
from tests.support.mails import a_mail
from tests.support.patients import dump
from tests.support.raw_smtp import SmtpHandler, raw_smtp, saying

MAIL = RenderedMail("8d7", "<8d7@h.example>", NOW, ("ana@h.example",), "Cobrança", "Texto", "<p>Texto</p>")
SENDER = "reenvio@hospital.example"


async def sent_to(handler: SmtpHandler, security: Security = "none") -> MailResult:
    async with raw_smtp(handler) as port:
        line = SmtpMail(SmtpServer("127.0.0.1", port, SENDER, security, seconds=1.0))
        try:
            return await line.send(MAIL)
        finally:
            await line.close()


@asynccontextmanager
async def stage_with(store: Store, handler: SmtpHandler) -> AsyncIterator[MailStage]:
    """A stage whose sender speaks to this server."""
    async with mail_stage(store, Mailbox()) as stage, raw_smtp(handler) as port:
        gateway = SmtpMail(SmtpServer("127.0.0.1", port, SENDER, "none", seconds=1.0))
        yield replace(stage, mail=replace(stage.mail, sender=replace(stage.mail.sender, gateway=gateway)))
        await gateway.close()


async def test_words_in_no_encoding_of_ours_are_written_down_with_their_code(store: Store) -> None:
    async with stage_with(store, saying(RCPT=b"550 5.1.1 usu\xe1rio desconhecido\r\n")) as stage:
        await stage.add(a_mail())
        async with asyncio.timeout(10):
            assert isinstance(await stage.mail.sender.attempt(a_mail().outbox_id), MailDied)
        mail = await stage.found(a_mail().outbox_id)
        assert (mail.state, mail.last_failure_code) == (MailState.FAILED, "550")


ENDLESS = b"220-" + b"x" * 4_000 + b"\r\n"


def pouring(piece: bytes, pause: float = 0.0) -> SmtpHandler:
    async def pour(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return pour


@pytest.mark.parametrize(
    "handler",
    [pouring(ENDLESS), pouring(b"x" * 65_536), pouring(b"250 ok\r\n" * 9_999), pouring(b"2", 0.05)],
    ids=["lines without end", "one line without end", "answers to nothing", "byte by byte"],
)
async def test_a_greeting_without_end_is_a_failure_of_the_attempt_within_its_time(
    handler: SmtpHandler,
) -> None:
    async with asyncio.timeout(10):
        result = await sent_to(handler)
    assert isinstance(result, MailNotSent)
    assert result.failure.kind is FailureKind.RETRYABLE


@pytest.mark.parametrize("answer", [b"taken\r\n", b"\r\n", b"354 go on\r\n", b"999 x\r\n", b"251 x\r\n"])
async def test_an_answer_to_the_text_that_says_neither_yes_nor_no_is_a_lost_one(answer: bytes) -> None:
    result = await sent_to(saying(end=answer))
    assert isinstance(result, MailAnswerLost)
    assert result.failure.code == OwnCode.ANSWER_LOST


@pytest.mark.parametrize("answer", [b"hello\r\n", b"000 x\r\n", b"-12 x\r\n", b"999 x\r\n", b"\r\n"])
async def test_an_answer_that_is_none_of_smtp_has_a_code_that_people_can_look_up(answer: bytes) -> None:
    result = await sent_to(saying(RCPT=answer))
    assert isinstance(result, MailNotSent)
    assert result.failure.code in set(OwnCode)
    assert result.failure.kind is FailureKind.RETRYABLE


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ({"RCPT": b"550 4.2.2 x\r\n"}, FailureKind.RETRYABLE),
        ({"RCPT": b"550 2.0.0 x\r\n"}, FailureKind.PERMANENT),
        ({"RCPT": b"421 5.1.1 x\r\n"}, FailureKind.RETRYABLE),
        ({"RCPT": b"250-a\r\n550 b\r\n"}, FailureKind.PERMANENT),
    ],
)
async def test_codes_that_contradict_are_read_by_the_rules(
    answers: dict[str, bytes], kind: FailureKind
) -> None:
    result = await sent_to(saying(**answers))
    assert isinstance(result, MailNotSent)
    assert result.failure.kind is kind


async def test_a_yes_whose_words_say_no_is_a_yes() -> None:
    assert isinstance(await sent_to(saying(end=b"250 5.1.1 x\r\n")), MailSent)


STARTTLS = b"250-practice\r\n250 STARTTLS\r\n"


@pytest.mark.parametrize(
    "handler",
    [
        saying(),
        saying(EHLO=STARTTLS, STAR=b"220 go\r\n250 injected\r\n"),
        saying(EHLO=STARTTLS, STAR=b"220 go\r\n" + b"250 ok\r\n" * 5),
    ],
    ids=["stripped", "injected", "answers beforehand"],
)
async def test_where_starttls_is_taken_away_nothing_leaves_and_it_is_told_as_that(
    handler: SmtpHandler,
) -> None:
    result = await sent_to(handler, "starttls")
    assert isinstance(result, MailNotSent)
    assert result.failure.code == OwnCode.TLS_FAILED


PERSON = "Maria da Silva 529.982.247-25 <maria@example.com>"


@pytest.mark.parametrize("code", ["550 5.1.1", "421 4.3.2", "554", "999", "hello"])
async def test_what_a_server_quotes_is_nowhere_in_clear(
    store: Store, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with stage_with(store, saying(RCPT=f"{code} {PERSON}\r\n".encode())) as stage:
        await stage.add(a_mail(claim_id="CLM-001-1"))
        ended = await stage.mail.sender.attempt(a_mail().outbox_id)
        assert isinstance(ended, MailDied | MailWaits)
        assert "Maria" not in (ended.mail.last_failure_reason or "")
    kept = await dump(store._engine)
    for word in ("Maria", "529.982.247-25", "maria@example.com"):
        assert word not in kept
        assert word not in caplog.text
