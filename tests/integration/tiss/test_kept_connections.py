"""Connections are used again for a moment, and never so that an answer is taken for another's."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from gateways.tiss.heads import MOST_INTERIM_ANSWERS
from gateways.tiss.judgement import Broken, HttpAnswer, Reply
from gateways.tiss.transport import Line, Request, open_line
from tests.support.raw_server import http, server
from tests.support.tiss_samples import NOW, payer, sample

RECEIPT = sample("response_protocoloRecebimento")
MESSAGE = b"<message/>"
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Payer:
    """Keeps its connections open; `answers` has what it does with one message after the other."""

    answers: list[Answer]
    connections: int = 0
    wants: list[bytes] = field(default_factory=list)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while not writer.is_closing() and (head := await _head(reader)):
            self.wants.append(head.partition(b"Connection: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(len(MESSAGE))
            await self.answers.pop(0)(writer)


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def says(*pieces: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return answer


async def hangs_up(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def asked(line: Line, url: str, times: int) -> list[Reply]:
    return [await line.ask(Request(url, MESSAGE, NOW)) for _ in range(times)]


async def exchanged(played: Payer, times: int, keep: float = 60) -> list[Reply]:
    async with server(played) as url, open_line(payer(url, timeouts={"keep": keep})) as line:
        return await asked(line, url, times)


OK = says(http(RECEIPT))
TAKEN = HttpAnswer(200, RECEIPT)


async def test_messages_of_one_moment_share_a_connection() -> None:
    played = Payer([OK, OK, OK])
    assert await exchanged(played, 3) == [TAKEN] * 3
    assert (played.connections, played.wants) == (1, [b"keep-alive"] * 3)


async def test_without_keeping_each_message_has_a_connection_of_its_own() -> None:
    played = Payer([OK, OK])
    assert await exchanged(played, 2, keep=0) == [TAKEN] * 2
    assert (played.connections, played.wants) == (2, [b"close"] * 2)


async def test_a_payer_that_closes_each_connection_is_believed() -> None:
    played = Payer([says(http(RECEIPT, "Connection: close"))] * 2)
    assert await exchanged(played, 2) == [TAKEN] * 2
    assert played.connections == 2


async def test_once_one_was_closed_under_a_message_none_is_kept_any_more() -> None:
    played = Payer([OK, hangs_up, OK, OK])
    assert await exchanged(played, 4) == [TAKEN, Broken("NET:RESET"), TAKEN, TAKEN]
    assert played.wants == [b"keep-alive", b"keep-alive", b"close", b"close"]
    assert played.connections == 3


STRAY = http(b"<a/>")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n<b/>\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "pieces", [(http(RECEIPT), STRAY), (http(RECEIPT) + STRAY,), (http(RECEIPT), b"\r\n")]
)
async def test_after_bytes_that_nobody_asked_for_a_connection_is_not_used_again(
    pieces: tuple[bytes, ...],
) -> None:
    played = Payer([says(*pieces), OK])
    assert await exchanged(played, 2) == [TAKEN] * 2
    assert played.connections == 2


async def test_after_an_answer_whose_end_is_not_plain_a_connection_is_not_used_again() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    played = Payer([says(CHUNKED), says(interim + http(RECEIPT)), OK])
    assert await exchanged(played, 3) == [HttpAnswer(200, b"<b/>"), TAKEN, TAKEN]
    assert played.connections == 3


async def test_a_head_that_does_not_end_is_no_answer_on_a_used_connection_either() -> None:
    endless = b"HTTP/1.1 100 Continue\r\n\r\n" * (MOST_INTERIM_ANSWERS + 1)
    played = Payer([OK, says(endless + http(RECEIPT))])
    first, second = await exchanged(played, 2)
    assert first == TAKEN
    assert second != TAKEN
    assert played.connections == 1


async def test_messages_that_leave_together_have_a_connection_each_and_later_ones_open_none() -> None:
    together = asyncio.Barrier(3)

    async def answers_all_at_once(writer: asyncio.StreamWriter) -> None:
        async with together:
            await OK(writer)

    played = Payer([answers_all_at_once] * 3 + [OK] * 2)
    async with server(played) as url, open_line(payer(url, at_once=3, timeouts={"keep": 60})) as line:
        assert await asyncio.gather(*(line.ask(Request(url, MESSAGE, NOW)) for _ in range(3))) == [TAKEN] * 3
        assert await asked(line, url, 2) == [TAKEN] * 2
    assert played.connections == 3


async def test_connections_that_have_outlived_their_time_are_closed_by_the_next_message() -> None:
    together, ended = asyncio.Barrier(3), asyncio.Event()

    async def answers_all_at_once(writer: asyncio.StreamWriter) -> None:
        async with together:
            await OK(writer)

    played = Payer([answers_all_at_once] * 3 + [OK] * 1000)
    left = 0

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal left
        await played(reader, writer)
        left += 1
        if left >= 2:
            ended.set()

    async with server(counted) as url, open_line(payer(url, at_once=3, timeouts={"keep": 0.05})) as line:
        await asyncio.gather(*(line.ask(Request(url, MESSAGE, NOW)) for _ in range(3)))
        async with asyncio.timeout(20):
            while not ended.is_set():
                assert await asked(line, url, 1) == [TAKEN]
                await asyncio.sleep(0.02)


async def test_a_login_in_the_address_travels_and_no_message_brings_what_an_answer_left() -> None:
    heads: list[bytes] = []

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            heads.append(head.lower())
            await reader.readexactly(len(MESSAGE))
            writer.write(http(RECEIPT, "Set-Cookie: session=1"))

    async with server(play) as url, open_line(payer(url)) as line:
        assert await asked(line, url.replace("//", "//us%40er:word@"), 2) == [TAKEN] * 2
    assert [b"authorization: basic dxnazxi6d29yza==" in head for head in heads] == [True, True]
    assert not any(b"cookie" in head for head in heads)
