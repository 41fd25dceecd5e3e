"""An HTTP error whose body was not read whole proves nothing about the batch: the rest may be its receipt."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import httpx
import pytest

from domain.claim_state import ClaimState
from domain.payer_status import PayerLimits, PayerState
from domain.submission import AccessDenied, AnswerLost, Failed, SendResult, Submission
from gateways.clock import WallClock
from gateways.tiss.client import TissClient
from gateways.tiss.gateway import TissGateway
from gateways.tiss.judgement import HttpAnswer, Unread, judge_cancel, judge_status, judge_submission
from gateways.tiss.transport import Request, exchange
from gateways.tiss.validation import Schemas
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.payloads import seal_payload
from persistence.store import Store
from tests.security.hostile_answers import RECEIPT
from tests.support.payer_stage import Scene
from tests.support.raw_server import answering, http, server
from tests.support.services import services
from tests.support.simulator import OfflinePayer
from tests.support.tiss_client import open_client
from tests.support.tiss_samples import CALL, NOW, PAYER, file_bytes, file_text, lote, payer
from workers.jobs import all_handlers
from workers.payers.channels import PayerChannel, gateway_to
from workers.payers.limits import LimitsByPayer
from workers.runtime import Complete, Job, Outcome, Throw

SCHEMAS, BATCH = Schemas(), lote()
CLAIM = "CLM-X-1"
CONTENT = file_bytes(file_text())
every_status = pytest.mark.parametrize(
    "status", [302, 400, 401, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503]
)


def cut(status: int, body: bytes = RECEIPT, *headers: str) -> bytes:
    """All of a body, of which one more byte was announced."""
    whole = http(body, *headers, status=f"{status} X")
    return whole.replace(f"Length: {len(body)}".encode(), f"Length: {len(body) + 1}".encode())


async def told(answer: bytes, **settings: object) -> SendResult:
    async with (
        server(answering(answer)) as url,
        open_client(payer(url, **settings), SCHEMAS) as client,
    ):
        return await client.submit(BATCH, CALL)


@every_status
async def test_a_receipt_that_breaks_off_under_an_http_error_may_be_one(status: int) -> None:
    outcome = await told(cut(status))
    assert isinstance(outcome, AnswerLost)
    assert outcome.code == "NET:TRUNCATED"
    assert f"HTTP {status}" in outcome.error


@every_status
async def test_so_may_one_that_is_larger_than_we_read(status: int) -> None:
    answer = http(RECEIPT + b" " * 2_000, status=f"{status} X")
    outcome = await told(answer, max_answer_bytes=len(RECEIPT))
    assert isinstance(outcome, AnswerLost)
    assert outcome.code == "NET:TOO_LARGE"


@every_status
async def test_so_may_one_that_is_not_packed_as_it_says(status: int) -> None:
    assert isinstance(await told(http(RECEIPT, "Content-Encoding: gzip", status=f"{status} X")), AnswerLost)


async def test_so_may_one_of_which_no_byte_came() -> None:
    assert isinstance(await told(b"HTTP/1.1 400 X\r\nContent-Length: 900\r\n\r\n"), AnswerLost)


@pytest.mark.parametrize(
    "body",
    [RECEIPT[:900], RECEIPT[:-5], b"<!DOCTYPE a><a>" + RECEIPT, b'<?xml version="1.0" encoding="x"?><a/>'],
)
@every_status
def test_so_may_one_that_breaks_off_unnoticed_or_is_never_read(body: bytes, status: int) -> None:
    assert isinstance(judge_submission(HttpAnswer(status, body), BATCH), AnswerLost)


@pytest.mark.parametrize("body", [b"", b"no", b"<html><body>" + RECEIPT[:900]])
async def test_an_error_that_came_whole_is_as_clear_as_before(body: bytes) -> None:
    refused = await told(http(body, status="400 X"))
    assert isinstance(refused, Failed)
    assert refused.refused
    assert isinstance(await told(http(body, status="401 X")), AccessDenied)


class HastyEntrance(httpx.AsyncBaseTransport):
    """Refuses large messages without reading them, and breaks off."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        async def body() -> AsyncIterator[bytes]:
            yield b"no"
            raise httpx.ReadError("reset", request=request)

        return httpx.Response(413, content=body(), request=request)


async def test_a_batch_that_had_not_left_cannot_have_arrived_whatever_the_answer_lacks() -> None:
    request = Request("https://payer.example", b"<a/>", NOW)
    assert await exchange(HastyEntrance(), request, payer()) == HttpAnswer(413, b"")


def test_the_status_still_speaks_of_the_payer() -> None:
    down = judge_submission(Unread(503, "NET:TRUNCATED"), BATCH)
    assert isinstance(down, AnswerLost)
    assert down.payer_down
    slow = judge_submission(Unread(404, "NET:READ_TIMEOUT"), BATCH)
    assert isinstance(slow, AnswerLost)
    assert not slow.payer_down
    denied = judge_submission(Unread(401, "NET:TRUNCATED"), BATCH)
    assert isinstance(denied, AnswerLost)
    assert "refuses our credentials" in denied.denial


def test_a_question_may_be_asked_again_and_a_cancellation_is_not_taken_for_refused() -> None:
    assert isinstance(judge_status(Unread(401, "NET:TRUNCATED"), "1"), AccessDenied)
    assert isinstance(judge_status(Unread(404, "NET:TRUNCATED"), "1"), Failed)
    assert isinstance(judge_cancel(Unread(404, "NET:TRUNCATED"), "1"), AnswerLost)


@pytest.mark.parametrize("answer", [Unread(401, "NET:TRUNCATED"), HttpAnswer(403, RECEIPT)])
async def test_a_denial_that_may_hide_a_receipt_stops_the_payer_and_the_claim_may_have_arrived(
    store: Store, answer: Unread | HttpAnswer
) -> None:
    scene = Scene(store, limits=PayerLimits(per_minute=None))
    scene.answer = judge_submission(answer, BATCH)
    assert isinstance(await scene.submit(1), Throw)
    status = await scene.status()
    assert status.state is PayerState.STOPPED
    assert "HTTP 40" in status.reason
    async with store.reading() as tx:
        assert await tx.attempts.may_have_arrived("CLM-D-1")
    held = await scene.submit(1, key=2, retryCount=1)
    assert isinstance(held, Throw)
    assert held.code == "PAYER_UNAVAILABLE"
    assert scene.sent == ["CLM-D-1"]


@dataclass
class CutOnce:
    """A payer that takes what comes, and whose first answer breaks off under an HTTP error."""

    status: int
    simulated: OfflinePayer = field(default_factory=OfflinePayer)
    requests: int = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        answer = self.simulated.hand_in(await reader.readexactly(int(size.partition(b":")[2])))
        self.requests += 1
        first = self.requests == 1
        writer.write(cut(self.status, answer.body) if first else http(answer.body))
        await writer.drain()


@pytest.mark.parametrize("status", [400, 408, 429])
async def test_a_batch_that_was_taken_is_not_failed_when_its_resend_meets_it(
    store: Store, status: int
) -> None:
    played = CutOnce(status)
    async with server(played) as url, open_client(payer(url), SCHEMAS) as client:
        first = await submit(store, client, 0)
        second = await submit(store, client, 1)
    assert played.simulated.verdicts == ["taken", "refused:3268"]
    assert isinstance(first, Throw)
    assert second == Complete({"protocolNumber": None})  # the payer has it: a person asks for its number
    async with store.reading() as tx:
        claim = await tx.claims.find(CLAIM)
        assert await tx.attempts.may_have_arrived(CLAIM)
    assert claim
    assert claim.state is ClaimState.SUBMITTING


async def submit(store: Store, client: TissClient, retry: int) -> Outcome:
    cipher = cipher_of(new_key("k1"))
    sealed = seal_payload(cipher, CLAIM, CONTENT)
    await store.run(lambda tx: tx.payloads.put(CLAIM, sealed, now=NOW))
    gateway = gateway_to({PAYER: PayerChannel(payer(), client)}, store, WallClock())
    limits = LimitsByPayer({PAYER: PayerLimits(per_minute=None, needs_proof=False)})
    handlers = all_handlers(services(store, payer=gateway, payer_limits=limits, cipher=cipher))
    [sending] = [handler for handler in handlers if handler.type == "submit-claim"]
    given = {"claimId": CLAIM, "payerId": PAYER, "retryCount": retry}
    return await sending.handle(Job(retry + 1, sending.type, "Task", 1, 3, {}, given))


async def test_a_cancellation_whose_answer_breaks_off_is_followed_by_no_send() -> None:
    again = Submission(CLAIM, PAYER, 2, after_lost_answer=True, content=CONTENT)
    played = CutOnce(404)
    played.simulated.send("200000000001")
    async with server(played) as url:
        settings = payer(url, cancel_when_ambiguous=True)
        async with open_client(settings, SCHEMAS) as client:
            assert isinstance(await TissGateway({PAYER: client}).send(again, NOW), AnswerLost)
    assert played.requests == 1
