"""Several corrected files at once: each finds its claim, what fits is kept and released, the rest is told."""

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
from tests.support.intake_stage import PAYERS
from tests.support.payers_file import payers_file
from tests.support.review_process import ReviewProcesses
from tests.support.tiss_samples import CARD, PAYER, file_bytes, file_text
from workers.claims.corrected_files import FILES_MOST
from workers.claims.examination import ClaimFile
from workers.payers.channels import open_channels

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
NUMBERS = ("200000000001", "200000000002", "200000000003")
CLAIMS = tuple(f"CLM-{PAYER}-PREST0001-{number}" for number in NUMBERS)
Handed = tuple[str, bytes]


def batch(number: str, **changes: str) -> bytes:
    text = file_text().replace(f"<ans:numeroLote>{NUMBERS[0]}", f"<ans:numeroLote>{number}")
    return file_bytes(text.replace(CARD, changes.get("card", CARD)))


def mended(number: str) -> Handed:
    return f"lote-{number}.xml", batch(number, card=CARD[::-1])


@dataclass(frozen=True, slots=True)
class Counter:
    """A clerk of registration, and claims in review for one cause."""

    stage: ConsoleStage
    browser: httpx.AsyncClient
    processes: ReviewProcesses

    async def hand_in(self, *files: Handed, reason: str = "cards were mended") -> httpx.Response:
        token = csrf_in(await self.browser.get("/reviews/correct-files"))
        form = {"csrf": token, "reason": reason, "selection": f"payer={PAYER}"}
        parts = [("files", (name, data, "text/xml")) for name, data in files]
        return await self.browser.post("/reviews/correct-files", data=form, files=parts)

    async def release(self, page: httpx.Response, **fields: str) -> httpx.Response:
        names = ("csrf", "selection", "claims", "mark", "number")
        form = {name: page.text.split(f'name="{name}" value="')[1].split('"')[0] for name in names}
        form |= {"reason": "cards were mended"} | fields
        return await self.browser.post("/reviews/correct-files/release", data=form)

    async def orders(self, claim: str) -> list[str]:
        kept = await self.stage.store.look(lambda tx: tx.orders.about_claim(claim))
        return [one.action for one in kept if one.refused_at is None]


@pytest.fixture
async def counter(store: Store, tmp_path: Path) -> AsyncIterator[Counter]:
    async with (
        message_broker() as broker,
        open_channels(payers_file(tmp_path, PAYERS)) as channels,
        open_channel(Plaintext(broker.address)) as channel,
    ):
        stage = console_stage(store, outside=Outside(ZeebeCommands(channel), channels))
        for job, (claim, number) in enumerate(zip(CLAIMS, NUMBERS, strict=True)):
            await stage.console.reviews.intake.submit(ClaimFile(batch(number)))
            async with store.transaction() as tx:
                review = Review(claim, 0, ReviewReason.PERMANENT_ERROR, None)
                await tx.reviews.open(review, job_key=job, now=NOW)
                await tx.claims.move(claim, ClaimState.IN_REVIEW, now=NOW, reason=review.reason)
        broker.taken.clear()
        async with stage.logged_in(Role.REGISTRATION) as browser:
            yield Counter(stage, browser, ReviewProcesses(broker, store))


async def test_what_fits_goes_together_and_one_bad_file_costs_the_others_nothing(counter: Counter) -> None:
    bad = "ruim.xml", batch(NUMBERS[2], card="0" * 60)
    page = await counter.hand_in(mended(NUMBERS[0]), bad, mended(NUMBERS[1]))
    assert page.status_code == 200
    assert "2 serão reenviadas" in page.text
    assert "1 arquivo não serviu; os outros não foram afetados." in page.text
    for said in ("ruim.xml", "linha ", "guia 1", "numeroCarteira", "o valor é longo demais"):
        assert said in page.text
    assert "0" * 20 not in page.text
    assert [await counter.orders(claim) for claim in CLAIMS] == [["correct file"], ["correct file"], []]
    assert counter.processes.told == []  # nothing goes before it is released
    answer = await counter.release(page)
    assert answer.headers["location"].startswith("/reviews/bulk/")
    counter.stage.clock.wait(minutes=1)
    await asyncio.gather(counter.stage.runner().step(), counter.processes.follow(2))
    assert sorted(counter.processes.told) == [(claim, "CORRECTED") for claim in CLAIMS[:2]]
    again = await counter.hand_in(mended(NUMBERS[2]))
    assert "1 será reenviada" in again.text


async def test_a_file_whose_batch_has_another_number_is_known_by_the_claims_id_in_its_name(
    counter: Counter,
) -> None:
    renumbered = batch("200000000009")
    lost = await counter.hand_in(("novo.xml", renumbered))
    assert "nenhuma cobrança em revisão tem este lote" in lost.text
    found = await counter.hand_in((f"{CLAIMS[0]}.xml", renumbered))
    assert "1 será reenviada" in found.text
    claim = await counter.stage.store.look(lambda tx: tx.claims.find(CLAIMS[0]))
    assert claim
    assert claim.batch_number == "200000000009"


async def test_a_second_file_of_one_claim_is_told_and_not_kept(counter: Counter) -> None:
    page = await counter.hand_in(mended(NUMBERS[0]), ("outro.xml", batch(NUMBERS[0])))
    assert "outro arquivo desta lista já é desta cobrança" in page.text
    assert await counter.orders(CLAIMS[0]) == ["correct file"]


async def test_what_the_payer_may_have_is_left_to_be_corrected_one_by_one(counter: Counter) -> None:
    async with counter.stage.store.transaction() as tx:
        attempt = await tx.attempts.start(CLAIMS[0], 1, now=NOW)
        await tx.attempts.finish(CLAIMS[0], attempt, AttemptResult(AnswerLost.stored_as), now=NOW)
    page = await counter.hand_in(mended(NUMBERS[0]))
    assert "confirme com a operadora antes" in page.text
    assert await counter.orders(CLAIMS[0]) == []


async def test_claims_that_went_on_meanwhile_are_not_released_unseen(counter: Counter) -> None:
    page = await counter.hand_in(mended(NUMBERS[0]), mended(NUMBERS[1]))
    await counter.stage.store.run(
        lambda tx: tx.claims.close(CLAIMS[0], ClaimState.WRITTEN_OFF, now=NOW, reason=None)
    )
    answer = await counter.release(page)
    assert answer.status_code == 409
    assert "1 será reenviada" in answer.text
    assert (await counter.release(answer)).status_code == 303
    nobody = await counter.release(page, claims="nonsense ' OR 1=1", mark="x")
    assert nobody.status_code == 409


@pytest.mark.parametrize("reason", ["", "  "])
async def test_without_a_reason_or_a_file_nothing_is_kept(counter: Counter, reason: str) -> None:
    assert (await counter.hand_in(mended(NUMBERS[0]), reason=reason)).status_code == 400
    assert (await counter.hand_in(("", b""))).status_code == 400
    assert await counter.orders(CLAIMS[0]) == []


async def test_files_larger_than_we_read_are_refused_before_they_are_looked_at(counter: Counter) -> None:
    assert (await counter.hand_in(*[("x.xml", b"x" * MAX_BYTES)] * 5)).status_code == 413
    many = await counter.hand_in(*[("x.xml", b"<x/>")] * (FILES_MOST + 1))
    assert many.status_code == 413
    assert f"envie no máximo {FILES_MOST} por vez" in many.text


async def test_one_file_that_is_too_large_costs_the_others_nothing(counter: Counter) -> None:
    page = await counter.hand_in(("grande.xml", b"x" * (MAX_BYTES + 1)), mended(NUMBERS[0]))
    assert page.status_code == 200
    assert "O arquivo é grande demais." in page.text
    assert "1 será reenviada" in page.text


async def test_a_hostile_name_of_a_file_is_shown_as_text(counter: Counter) -> None:
    page = await counter.hand_in(("<script>alert(1)</script>.xml", b"<not"))
    assert "não é um XML bem formado" in page.text
    assert "<script>alert" not in page.text
