"""No file and no answer, however large, is worked on by the event loop itself."""

import asyncio
import gzip
import random
from contextlib import suppress
from pathlib import Path

import pytest

from domain.submission import Accepted, AnswerLost, Failed, SendResult, Submission
from gateways.tiss.exchange import ExchangeListener, trace_into
from gateways.tiss.gateway import TissGateway
from gateways.tiss.validation import Schemas
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.payloads import seal_payload
from persistence.store import Store
from tests.security.hostile_answers import RECEIPT, empty_reasons, receipt_with, side_by_side
from tests.security.hostile_files import bad_procedures, large
from tests.support.effort import watching_loop
from tests.support.raw_server import answering, http, server
from tests.support.tiss_client import open_client
from tests.support.tiss_samples import NOW, PAYER, file_bytes, file_text, payer

SMALL = file_bytes(file_text())
BLOCKED = 0.1


async def sent(
    content: bytes, answer: bytes, listener: ExchangeListener | None = None
) -> tuple[SendResult, float]:
    """What came of a send, and the longest step that it cost the event loop."""
    async with (
        server(answering(answer)) as url,
        open_client(payer(url, max_answer_bytes=100_000_000), Schemas(), listener=listener) as client,
        watching_loop() as steps,
    ):
        submission = Submission("CLM-001-1", PAYER, 1, content=content)
        result = await TissGateway({PAYER: client}).send(submission, NOW)
    return result, steps.longest


def traces(folder: Path) -> int:
    return len(list(folder.iterdir()))


async def test_a_large_receipt_is_judged_beside_the_loop() -> None:
    result, longest = await sent(SMALL, http(receipt_with(empty_reasons(450_000))))
    assert isinstance(result, Accepted)
    assert longest < BLOCKED


async def test_a_large_answer_that_is_no_receipt_is_judged_beside_the_loop() -> None:
    result, longest = await sent(SMALL, http(b"<a>" + b"<b>x</b>" * 240_000 + b"</a>"))
    assert isinstance(result, AnswerLost)
    assert longest < BLOCKED


async def test_a_packed_answer_is_unpacked_beside_the_loop() -> None:
    packed = gzip.compress(b" " * 101_000_000 + side_by_side(10), compresslevel=1)
    result, longest = await sent(SMALL, http(packed, "Content-Encoding: gzip"))
    assert isinstance(result, AnswerLost)
    assert result.code == "NET:TOO_LARGE"
    assert longest < BLOCKED


def crumbled(body: bytes) -> bytes:
    """The answer byte by byte."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"


async def test_an_answer_in_very_small_pieces_is_read_turn_by_turn() -> None:
    result, longest = await sent(SMALL, crumbled(side_by_side(2_000)))
    assert isinstance(result, Accepted)
    assert longest < BLOCKED


async def test_an_answer_in_far_too_many_pieces_is_not_read_to_its_end() -> None:
    result, longest = await sent(SMALL, crumbled(b"<a>" + b"x" * 2_000_000 + b"</a>"))
    assert isinstance(result, AnswerLost)
    assert result.code == "NET:TOO_LARGE"
    assert longest < BLOCKED


async def flooded(lines: bytes) -> tuple[SendResult, float]:
    """What an answer comes to that begins with so much before its head, and goes on for ever."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answering()(reader, writer)
        with suppress(ConnectionError):
            while True:
                writer.write(lines)
                await writer.drain()

    waits = {"queue": 60, "connect": 1, "write": 2, "read": 5, "total": 8}
    async with server(handler) as url, open_client(payer(url, timeouts=waits), Schemas()) as client:
        submission = Submission("CLM-001-1", PAYER, 1, content=SMALL)
        async with watching_loop() as steps:
            result = await TissGateway({PAYER: client}).send(submission, NOW)
    return result, steps.longest


@pytest.mark.parametrize(
    "lines",
    [b"HTTP/1.1 100 Continue\r\n\r\n" * 40_000, b"HTTP/1.1 103 \r\n\r\n" * 60_000],
)
async def test_interim_answers_without_end_are_not_read_and_keep_nobody_waiting(lines: bytes) -> None:
    result, longest = await flooded(lines)
    assert isinstance(result, AnswerLost)
    assert result.code == "NET:NOT_HTTP"
    assert longest < BLOCKED


async def test_a_few_interim_answers_are_as_good_as_none() -> None:
    result, _ = await sent(SMALL, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 20 + http(RECEIPT))
    assert isinstance(result, Accepted)
    lost, _ = await sent(SMALL, b"HTTP/1.1 100 Continue\r\n\r\n" * 21 + http(RECEIPT))
    assert isinstance(lost, AnswerLost)


async def test_interim_answers_that_come_byte_by_byte_are_counted_too() -> None:
    flood = b"HTTP/1.1 100 Continue\r\n\r\n" * 21 + http(RECEIPT)
    async with (
        server(answering(*(flood[at : at + 5] for at in range(0, len(flood), 5)))) as url,
        open_client(payer(url), Schemas()) as client,
    ):
        submission = Submission("CLM-001-1", PAYER, 1, content=SMALL)
        lost = await TissGateway({PAYER: client}).send(submission, NOW)
    assert isinstance(lost, AnswerLost)
    assert lost.code == "NET:NOT_HTTP"


async def test_a_large_answer_is_traced_beside_the_loop(tmp_path: Path) -> None:
    result, longest = await sent(
        SMALL, http(receipt_with(empty_reasons(450_000))), trace_into(tmp_path, PAYER)
    )
    assert isinstance(result, Accepted)
    assert longest < BLOCKED
    assert traces(tmp_path) == 1


async def test_a_large_batch_is_read_built_and_checked_beside_the_loop() -> None:
    result, longest = await sent(large(guides=100, note=100_000), http(b""))
    assert isinstance(result, Failed)
    assert "the value is too long" in result.error
    assert longest < BLOCKED


async def test_a_large_file_is_opened_beside_the_loop(store: Store) -> None:
    cipher, data = cipher_of(new_key("k1")), random.Random(1).randbytes(20_000_000)
    sealed = seal_payload(cipher, "CLM-001-1", data)
    async with store.transaction() as tx:
        await tx.payloads.put("CLM-001-1", sealed, now=NOW)
    async with store.reading() as tx, watching_loop() as steps:
        assert await tx.payloads.opened("CLM-001-1", cipher) == data
    assert steps.longest < BLOCKED


async def test_a_batch_with_very_many_faults_is_checked_beside_the_loop() -> None:
    result, longest = await sent(bad_procedures(200_000), http(b""))
    assert isinstance(result, Failed)
    assert result.refused
    assert longest < BLOCKED
