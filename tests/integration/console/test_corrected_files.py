"""A corrected file is handed in by the form: checked at once, its faults told line by line."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from domain.access import Role
from domain.claim_state import ClaimState
from domain.reviews import ReviewReason
from domain.submission import AnswerLost
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from persistence.repositories.attempts import AttemptResult
from persistence.repositories.reviews import Review
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.console_stage import MAX_BYTES, ConsoleStage, Outside, console_stage, csrf_in
from tests.support.faults.messages import message_broker
from tests.support.intake_stage import DERIVED, FILE, PAYERS
from tests.support.payers_file import payers_file
from tests.support.review_process import ReviewProcesses
from tests.support.tiss_samples import CARD, file_bytes, file_text
from workers.claims.examination import ClaimFile
from workers.payers.channels import open_channels

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
OTHER = file_bytes(file_text().replace("<ans:numeroLote>200000000001", "<ans:numeroLote>200000000009"))
BAD = file_bytes(file_text().replace(CARD, "0" * 60))


@dataclass(frozen=True, slots=True)
class Counter:
    """A clerk of registration, and a claim in review."""

    stage: ConsoleStage
    browser: httpx.AsyncClient
    processes: ReviewProcesses

    async def hand_in(self, data: bytes | None, **fields: str) -> httpx.Response:
        token = csrf_in(await self.browser.get(f"/claims/{DERIVED}"))
        files = {"file": ("lote.xml", data or b"", "text/xml")}
        form = {"csrf": token, "reason": "card was mended"} | fields
        return await self.browser.post(f"/claims/{DERIVED}/correct", data=form, files=files)

    async def orders(self) -> list[str]:
        kept = await self.stage.store.look(lambda tx: tx.orders.about_claim(DERIVED))
        return [one.action for one in kept]


@pytest.fixture
async def counter(store: Store, tmp_path: Path) -> AsyncIterator[Counter]:
    async with (
        message_broker() as broker,
        open_channels(payers_file(tmp_path, PAYERS)) as channels,
        open_channel(Plaintext(broker.address)) as channel,
    ):
        stage = console_stage(store, outside=Outside(ZeebeCommands(channel), channels))
        await stage.console.reviews.intake.submit(ClaimFile(FILE))
        broker.taken.clear()
        async with store.transaction() as tx:
            review = Review(DERIVED, 0, ReviewReason.PERMANENT_ERROR, None)
            await tx.reviews.open(review, job_key=1, now=NOW)
            await tx.claims.move(DERIVED, ClaimState.IN_REVIEW, now=NOW, reason=review.reason)
        async with stage.logged_in(Role.REGISTRATION) as browser:
            yield Counter(stage, browser, ReviewProcesses(broker, store))


async def test_a_good_file_takes_the_place_of_the_first_and_the_claim_goes(counter: Counter) -> None:
    answer, _ = await asyncio.gather(counter.hand_in(OTHER), counter.processes.follow(1))
    assert answer.headers["location"].endswith("said=corrected")
    claim = await counter.stage.store.look(lambda tx: tx.claims.find(DERIVED))
    assert claim
    assert claim.batch_number == "200000000009"
    assert counter.processes.told == [(DERIVED, "CORRECTED")]
    assert await counter.orders() == ["review CORRECTED"]


async def test_faults_are_told_by_line_without_a_value_and_nothing_is_ordered(counter: Counter) -> None:
    answer = await counter.hand_in(BAD)
    assert answer.status_code == 422
    assert "O arquivo não segue o padrão TISS nestes pontos." in answer.text
    assert "linha " in answer.text
    assert "guia 1" in answer.text
    assert "numeroCarteira" in answer.text
    assert "o valor é longo demais" in answer.text
    assert "0" * 20 not in answer.text
    assert (await counter.orders(), counter.processes.told) == ([], [])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"<not", "não é um XML bem formado"),
        (b"<a/>", "não é um lote de guias TISS"),
        (b"\x00\xff\xfe", "não é um XML bem formado"),
        (file_bytes(file_text().replace(">999999<", ">111111<")), "é de outra operadora"),
    ],
)
async def test_what_is_no_file_of_this_claim_is_told_in_our_words(
    counter: Counter, data: bytes, said: str
) -> None:
    answer = await counter.hand_in(data)
    assert answer.status_code == 422
    assert said in answer.text
    assert (await counter.orders(), counter.processes.told) == ([], [])


async def test_without_a_file_somebody_says_so(counter: Counter) -> None:
    answer = await counter.hand_in(None)
    assert answer.headers["location"].endswith("said=no_file")
    answer, _ = await asyncio.gather(counter.hand_in(None, without_file="yes"), counter.processes.follow(1))
    assert answer.headers["location"].endswith("said=corrected")


async def test_what_the_payer_may_have_is_corrected_only_by_who_has_asked(counter: Counter) -> None:
    async with counter.stage.store.transaction() as tx:
        attempt = await tx.attempts.start(DERIVED, 1, now=NOW)
        await tx.attempts.finish(DERIVED, attempt, AttemptResult(AnswerLost.stored_as), now=NOW)
    answer = await counter.hand_in(None, without_file="yes")
    assert answer.headers["location"].endswith("said=ask_first")
    other = await counter.hand_in(OTHER, asked_payer="yes")  # another batch number: it could be taken twice
    assert other.status_code == 422
    assert "mantenha os números do lote e das guias" in other.text
    assert counter.processes.told == []


async def test_a_file_larger_than_any_claims_is_refused_before_it_is_read(counter: Counter) -> None:
    assert (await counter.hand_in(b"x" * (MAX_BYTES + 100_000))).status_code == 413
    assert (await counter.hand_in(b"x" * (MAX_BYTES + 1))).status_code == 413


async def test_a_body_that_is_no_form_is_refused(counter: Counter) -> None:
    head = {"content-type": "multipart/form-data; boundary=x"}
    for content in (b"", b"--x\r\nnonsense", b"--y--"):
        path = f"/claims/{DERIVED}/correct"
        answer = await counter.browser.post(path, content=content, headers=head)
        assert answer.status_code in (400, 403, 413)
    assert counter.processes.told == []


async def test_a_hostile_name_of_a_file_is_read_by_nobody(counter: Counter) -> None:
    token = csrf_in(await counter.browser.get(f"/claims/{DERIVED}"))
    files = {"file": ("../../<script>alert(1)</script>.xml", BAD, "text/html")}
    answer = await counter.browser.post(
        f"/claims/{DERIVED}/correct", data={"csrf": token, "reason": "x y"}, files=files
    )
    assert answer.status_code == 422
    assert "<script>alert" not in answer.text
