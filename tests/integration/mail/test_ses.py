"""SES against moto's server, and against servers that answer what moto never does."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from email import message_from_string
from email.policy import default
from pathlib import Path

import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.server import ThreadedMotoServer
from moto.ses.models import ses_backends

from domain.mail.codes import FailureKind, OwnCode
from domain.mail.sending import MailAnswerLost, MailNotSent, MailSent, RenderedMail
from gateways.mail.ses import SesAccount, SesMail, SesRefusedError
from tests.support.builders import NOW

SENDER, REGION = "reenvio@hospital.example", "sa-east-1"
DRIP_SECONDS, PATIENCE_SECONDS = 0.2, 40.0
MAIL = RenderedMail("8d7", "<8d7@x>", NOW, ("ana@hospital.example",), "Aviso", "ação", "<p>ação</p>")


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")


@pytest.fixture
def moto() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()
    ses_backends[DEFAULT_ACCOUNT_ID][REGION].reset()


def line_to(endpoint: str, sender: str = SENDER, seconds: float = 20.0) -> SesMail:
    return SesMail(SesAccount(sender, REGION, endpoint, seconds))


async def test_a_mail_of_a_verified_sender_is_taken_with_the_ids_by_which_a_second_copy_is_known(
    moto: str,
) -> None:
    line = line_to(moto)
    await asyncio.to_thread(line._client.create_email_identity, EmailIdentity=SENDER)
    assert await line.send(MAIL) == MailSent(MAIL.message_id)
    await line.close()
    [taken] = ses_backends[DEFAULT_ACCOUNT_ID][REGION].sent_messages
    arrived = message_from_string(taken.raw_data, policy=default)
    assert (taken.source, set(taken.destinations)) == (SENDER, set(MAIL.to))
    assert (arrived["Message-ID"], arrived["X-Reenvio-Outbox-Id"]) == (MAIL.message_id, MAIL.outbox_id)
    assert arrived["Subject"] == MAIL.subject


async def test_a_mail_of_an_unverified_sender_is_a_permanent_failure(moto: str) -> None:
    line = line_to(moto, "nobody@elsewhere.example")
    result = await line.send(MAIL)
    assert isinstance(result, MailNotSent)
    assert (result.failure.code, result.failure.kind) == ("MessageRejected", FailureKind.PERMANENT)
    await line.close()


class Ses:
    """Answers every request with one status and one error code, or hangs up."""

    def __init__(self) -> None:
        self.code: str | None = None
        self.status = 400
        self.endpoint = ""
        self.requests = 0
        self.drips = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(x.split(b":")[1]) for x in head.lower().split(b"\r\n") if x.startswith(b"content-length")
        )
        await reader.readexactly(length)
        if self.drips:
            writer.write(b"HTTP/1.1 200 OK\r\n")
        self.requests += 1
        while self.drips:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(DRIP_SECONDS)
        if self.code:
            body = b'{"message": "said"}'
            told = f"x-amzn-ErrorType: {self.code}\r\nContent-Length: {len(body)}"
            writer.write(f"HTTP/1.1 {self.status} No\r\n{told}\r\n\r\n".encode() + body)
            await writer.drain()
        writer.close()


@pytest.fixture
async def ses() -> AsyncIterator[Ses]:
    answering = Ses()
    server = await asyncio.start_server(answering.serve, "127.0.0.1", 0)
    answering.endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield answering
    server.close()


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("Throttling", 400, FailureKind.RETRYABLE),
        ("TooManyRequestsException", 429, FailureKind.RETRYABLE),
        ("ServiceUnavailable", 503, FailureKind.RETRYABLE),
        ("MessageRejected", 400, FailureKind.PERMANENT),
        ("MailFromDomainNotVerifiedException", 400, FailureKind.PERMANENT),
        ("ExpiredTokenException", 403, FailureKind.OURS),
        ("AccessDeniedException", 403, FailureKind.OURS),
        ("SendingPausedException", 400, FailureKind.OURS),
        ("BadRequestException", 400, FailureKind.PERMANENT),
    ],
)
async def test_every_code_means_what_the_documents_or_ses_say_and_is_asked_for_once(
    ses: Ses, code: str, status: int, kind: FailureKind
) -> None:
    ses.code, ses.status = code, status
    line = line_to(ses.endpoint)
    result = await line.send(MAIL)
    await line.close()
    assert isinstance(result, MailNotSent)
    assert (result.failure.code, result.failure.kind) == (code.removesuffix("Exception"), kind)
    assert ses.requests == 1


async def test_a_connection_that_ends_without_an_answer_is_a_lost_answer(ses: Ses) -> None:
    line = line_to(ses.endpoint)
    result = await line.send(MAIL)
    await line.close()
    assert isinstance(result, MailAnswerLost)
    assert ses.requests == 1


async def test_an_answer_that_comes_drop_by_drop_ends_with_the_attempts_time(ses: Ses) -> None:
    ses.drips = True
    line = line_to(ses.endpoint, seconds=2)
    sending = asyncio.create_task(line.send(MAIL))
    await asyncio.wait([sending], timeout=PATIENCE_SECONDS)
    is_over, ses.drips = sending.done(), False
    result = await sending
    await line.close()
    assert is_over
    assert isinstance(result, MailAnswerLost)


async def test_nobody_listening_is_no_connection() -> None:
    line = line_to("http://127.0.0.1:1")
    result = await line.send(MAIL)
    await line.close()
    assert isinstance(result, MailNotSent)
    assert result.failure.code == OwnCode.CONNECTION_FAILED


async def test_credentials_that_are_nowhere_are_ours_to_bring_and_no_lost_connection(
    ses: Ses, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    line = line_to(ses.endpoint)
    result = await line.send(MAIL)
    await line.close()
    assert isinstance(result, MailNotSent)
    assert (result.failure.code, result.failure.kind) == (OwnCode.NO_CREDENTIALS, FailureKind.OURS)
    assert ses.requests == 0


def test_an_endpoint_that_is_none_is_refused_with_the_settings_to_look_at() -> None:
    with pytest.raises(SesRefusedError, match="MAIL_SES_ENDPOINT"):
        line_to("nowhere")
