"""No file and no answer, however large, is worked on by the event loop itself."""

import gzip
import random
from pathlib import Path

from domain.submission import Accepted, AnswerLost, Failed, SendResult, Submission
from gateways.tiss.exchange import ExchangeListener, trace_into
from gateways.tiss.gateway import TissGateway
from gateways.tiss.validation import Schemas
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.payloads import seal_payload
from persistence.store import Store
from tests.security.hostile_answers import empty_reasons, receipt_with, side_by_side
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
