"""SES against moto's server, and against servers that answer what moto never does."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from moto.server import ThreadedMotoServer

from domain.mail.codes import FailureKind, OwnCode
from domain.mail.sending import MailAnswerLost, MailNotSent, MailSent, RenderedMail
from gateways.mail.ses import SesAccount, SesMail
from tests.support.builders import NOW

SENDER = "reenvio@hospital.example"
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


def line_to(endpoint: str, sender: str = SENDER, seconds: float = 20.0) -> SesMail:
    return SesMail(SesAccount(sender, "sa-east-1", endpoint, seconds=seconds))


async def test_a_mail_of_a_verified_sender_is_taken(moto: str) -> None:
    line = line_to(moto)
    await asyncio.to_thread(line._client.create_email_identity, EmailIdentity=SENDER)
    assert await line.send(MAIL) == MailSent(MAIL.message_id)
    await line.close()


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

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(x.split(b":")[1]) for x in head.lower().split(b"\r\n") if x.startswith(b"content-length")
        )
        await reader.readexactly(length)
        self.requests += 1
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
    ],
)
async def test_every_code_of_the_documents_means_what_they_say_and_is_asked_for_once(
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


async def test_nobody_listening_is_no_connection() -> None:
    line = line_to("http://127.0.0.1:1")
    result = await line.send(MAIL)
    await line.close()
    assert isinstance(result, MailNotSent)
    assert result.failure.code == OwnCode.CONNECTION_FAILED
