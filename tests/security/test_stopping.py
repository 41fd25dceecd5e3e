"""A worker that stops: a send that has begun gets its answer, and nobody hands it anything new."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from bpmn.names import JobType
from domain.claim_state import ClaimState
from domain.submission import Accepted, SendResult, Submission
from gateways.clock import WallClock
from gateways.zeebe.connection import Plaintext
from persistence.repositories.claims import ClaimRow
from tests.support.faults import End, FaultyGateway, faulty_gateway
from tests.support.payers_file import payers_file
from tests.support.tiss_samples import PAYER, file_bytes, file_text
from tests.support.waiting import eventually
from workers.api import serve_beside_api
from workers.app.cluster import Cluster
from workers.app.composition import App, claims_flowing
from workers.app.databases import migrate_database
from workers.config.intake import ApiSettings
from workers.config.settings import HandlerLimits, PayerFiles, Settings

PAYERS = f'[payers.{PAYER}]\nendpoint = "https://payer.example"\nversion = "4.03.00"\nat_once = 1\n'
SENDS = frozenset({JobType.SUBMIT_CLAIM})
TOKEN = "t" * 32
XML = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/xml"}
FIRST, SECOND = "CLM-001-1", "CLM-001-2"


@dataclass
class SlowPayer:
    """Answers when the test lets it; knows whether anybody stopped waiting for it."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    had: list[str] = field(default_factory=list)
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    was_left: bool = False

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        self.had.append(submission.claim_id)
        self.asked.set()
        try:
            await self.answers.wait()
        except asyncio.CancelledError:
            self.was_left = True
            raise
        return Accepted("900000000001")


@dataclass(frozen=True)
class Sending:
    """A worker of sends, one at a time, in the middle of one; a second waits for it here."""

    app: App
    gateway: FaultyGateway
    payer: SlowPayer
    running: asyncio.Task[None]
    port: int
    sent: int
    waiting: int

    async def told_to_stop(self) -> None:
        """It has heard the signal: the job that has not begun is back at the engine."""
        os.kill(os.getpid(), signal.SIGTERM)
        await eventually(lambda: _so(self.gateway.store.is_activatable(self.waiting)))

    async def ended(self) -> None:
        self.payer.answers.set()
        async with asyncio.timeout(20):
            await self.running

    async def claim(self) -> ClaimRow | None:
        return await self.app.store.look(lambda tx: tx.claims.find(FIRST))


@pytest.fixture
def at_once() -> int:
    """How many sends the worker may have at once; its payer takes one."""
    return 1


@pytest.fixture
async def sending(tmp_path: Path, at_once: int) -> AsyncIterator[Sending]:
    settings = Settings(
        home=tmp_path / "home",
        payers=PayerFiles(file=payers_file(tmp_path, PAYERS)),
        api=ApiSettings(port=0, tokens=TOKEN),  # type: ignore[arg-type]
        handler_limits={JobType.SUBMIT_CLAIM: HandlerLimits(at_once=at_once)},
        drain_seconds=0,
    )
    await migrate_database(settings)
    async with (
        faulty_gateway() as gateway,
        claims_flowing(settings, Cluster(Plaintext(gateway.address), WallClock())) as opened,
        _begun(replace(opened, payer=SlowPayer()), gateway) as begun,
    ):
        yield begun


@asynccontextmanager
async def _begun(app: App, gateway: FaultyGateway) -> AsyncIterator[Sending]:
    payer = app.payer
    assert isinstance(payer, SlowPayer)
    with capture_logs() as logs:
        running = asyncio.create_task(serve_beside_api(app, SENDS))
        await eventually(lambda: _so(gateway.open_streams(JobType.SUBMIT_CLAIM) == 1))
        sent, waiting = (_job(gateway, claim) for claim in (FIRST, SECOND))
        await payer.asked.wait()
        await eventually(lambda: _so(gateway.ledger.stories[waiting].deliveries == 1))
        [port] = [entry["port"] for entry in logs if entry["event"] == "api_started"]
        try:
            yield Sending(app, gateway, payer, running, port, sent, waiting)
        finally:
            running.cancel()
            await asyncio.wait([running])


def _job(gateway: FaultyGateway, claim: str) -> int:
    return gateway.store.create(JobType.SUBMIT_CLAIM, {"claimId": claim, "payerId": PAYER})


async def _so(is_so: bool) -> bool:
    return is_so


async def test_a_send_that_has_begun_gets_its_answer_however_short_the_drain(sending: Sending) -> None:
    await sending.told_to_stop()
    assert (sending.payer.was_left, sending.running.done()) == (False, False)
    await sending.ended()
    claim = await sending.claim()
    assert claim is not None
    assert (claim.state, claim.protocol_number) == (ClaimState.ACCEPTED, "900000000001")
    assert sending.gateway.ledger.stories[sending.sent].end is End.COMPLETED


@pytest.mark.parametrize("at_once", [2])
async def test_a_claim_that_waits_in_the_worker_for_its_turn_is_handed_back_and_not_sent(
    sending: Sending,
) -> None:
    await sending.told_to_stop()
    await sending.ended()
    assert sending.payer.had == [FIRST]
    assert sending.gateway.ledger.stories[sending.sent].end is End.COMPLETED
    [back] = sending.gateway.store.open_jobs()
    assert (back.key, back.retries) == (sending.waiting, 3)


async def test_no_claim_is_taken_in_over_http_while_a_send_is_waited_for(sending: Sending) -> None:
    url = f"http://127.0.0.1:{sending.port}/api/claims"
    await sending.told_to_stop()
    async with httpx.AsyncClient(headers=XML, trust_env=False) as client:
        refused = await client.post(url, content=file_bytes(file_text()))
        shown = await client.get(f"{url}/{FIRST}")
        unknown = await client.post(url, headers={"Authorization": "Bearer no"})
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
    assert refused.json()["message"] == "This worker is stopping and takes no claims in."
    assert (shown.status_code, shown.json()["state"]) == (200, ClaimState.SUBMITTING)
    assert unknown.status_code == 401
    await sending.ended()
    assert {row.claim_id for row in await sending.app.store.look(lambda tx: tx.claims.all())} == {FIRST}
