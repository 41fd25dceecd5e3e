"""An SES that answers drop by drop, in no language, or with a person's number for a code."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from domain.mail.codes import UNKNOWN_CODE, FailureKind, api_failure
from domain.mail.sending import MailAnswerLost, MailNotSent, MailResult, MailSent, RenderedMail
from gateways.mail.ses import SesAccount, SesMail
from tests.support.builders import NOW
from tests.support.raw_smtp import raw_smtp

MAIL = RenderedMail("8d7", "<8d7@x>", NOW, ("ana@hospital.example",), "Aviso", "ação", "<p>ação</p>")
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")


@asynccontextmanager
async def line_to(answer: Answer) -> AsyncIterator[SesMail]:
    """A line to a server that reads requests and gives this answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(size.partition(b":")[2]))
        await answer(writer)
        writer.close()

    async with raw_smtp(serve) as port:
        line = SesMail(SesAccount("r@h.example", "sa-east-1", f"http://127.0.0.1:{port}", 1.0, 2))
        yield line
        await line.close()


def saying(*lines: str, body: str = "") -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        head = "\r\n".join((*lines, f"Content-Length: {len(body)}", "", ""))
        writer.write((head + body).encode())
        await writer.drain()

    return answer


async def dripping(writer: asyncio.StreamWriter) -> None:
    """A byte now and then: no single wait is long, and all of them take for ever, or 10 s."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
    for _ in range(50):
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.2)


async def test_an_answer_that_never_ends_is_a_lost_one_when_the_attempts_time_is_over() -> None:
    async with line_to(dripping) as line, asyncio.timeout(5):
        assert isinstance(await line.send(MAIL), MailAnswerLost)


async def test_sends_that_hang_keep_nobody_else_in_this_process_waiting() -> None:
    """Threads that all share would be used up, and with them every lookup of a name."""
    async with line_to(dripping) as line, asyncio.timeout(8):
        results = await asyncio.gather(*(line.send(MAIL) for _ in range(40)))
        assert await asyncio.to_thread(lambda: "free") == "free"
    begun = [one for one in results if isinstance(one, MailAnswerLost)]
    assert len(begun) == 2, "one that had not begun is known not to have left"
    assert all(isinstance(one, MailNotSent) for one in results if one not in begun)


@pytest.mark.parametrize("body", ["<html>", "{", '"text"', "[]", "\x00"])
async def test_a_yes_in_no_language_of_ses_is_no_proof_that_nothing_left(body: str) -> None:
    async with line_to(saying("HTTP/1.1 200 OK", "Content-Type: application/json", body=body)) as line:
        result: MailResult = await line.send(MAIL)
    assert isinstance(result, MailSent | MailAnswerLost)


@pytest.mark.parametrize(
    ("status", "error"),
    [("502 Bad Gateway", ""), ("400 No", "x" * 5_000), ("500 No", "\u00e9")],
)
async def test_an_odd_error_is_tried_again(status: str, error: str) -> None:
    answer = saying(f"HTTP/1.1 {status}", f"x-amzn-ErrorType: {error}", body="<html>no</html>")
    async with line_to(answer) as line:
        result = await line.send(MAIL)
    assert isinstance(result, MailNotSent)
    assert result.failure.kind is FailureKind.RETRYABLE
    assert len(result.failure.code) <= 64


async def test_refused_access_is_ours_to_mend_whatever_the_page_says() -> None:
    answer = saying("HTTP/1.1 403 No", "x-amzn-ErrorType: AccessDenied", body="<html>no</html>")
    async with line_to(answer) as line:
        result = await line.send(MAIL)
    assert isinstance(result, MailNotSent)
    assert result.failure.kind is FailureKind.OURS


@pytest.mark.parametrize("code", ["Cpf52998224725", "x52998224725", "", "A B", "a@b.c", "\x1b[31m"])
def test_a_code_with_a_persons_number_or_no_code_at_all_is_unknown(code: str) -> None:
    assert api_failure(code, "said").code == UNKNOWN_CODE
