"""After a lost answer a refused guide is believed only where no other claim of ours can have brought it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from domain.claim_state import ClaimState
from domain.intake import IntakeTerms
from gateways.clock import WallClock
from gateways.practice.simulator.scenario import Scenario
from gateways.practice.simulator.server import Simulator, simulated_payers
from gateways.tiss.names import Version
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.claims import Arrival
from persistence.repositories.guides import kept_guides
from persistence.repositories.reviews import Review
from persistence.store import Store
from tests.support.faults.messages import message_broker
from tests.support.intake_stage import ZONE, HandClock
from tests.support.payers_file import payers_file
from tests.support.services import services
from tests.support.tiss_samples import NOW, PAYER, file_bytes, file_text
from workers.claims.batches import Batches
from workers.claims.examination import ClaimFile, Reader
from workers.claims.guides import GuideSearch
from workers.claims.intake import Intake
from workers.jobs import all_handlers
from workers.jobs.services import Services
from workers.payers.channels import gateway_to, open_channels
from workers.payers.limits import limits_by_payer
from workers.runtime import Complete, Job, Outcome, Throw

OLDER, SECOND = f"CLM-{PAYER}-PREST0001-1", f"CLM-{PAYER}-PREST0001-2"
NO_ANSWER: Mapping[str, object] = {"lote": "2", "arrivals": [1], "then": {"do": "drop"}}
TAKEN_UNHEARD: Mapping[str, object] = {"lote": "2", "arrivals": [1], "then": {"do": "lose-answer"}}


@dataclass
class Scene:
    """Claims are handed in and sent to a simulated payer, whose ledger says what it took."""

    intake: Intake
    services: Services
    simulator: Simulator
    clock: HandClock
    version: str
    jobs: list[int] = field(default_factory=list)

    @property
    def store(self) -> Store:
        return self.intake.store

    async def hand_in(self, number: str, first: int, guides: int = 1) -> None:
        """Take a batch in; its guides are numbered from the first."""
        text = file_text(number, guides, self.version, first)
        await self.intake.submit(ClaimFile(file_bytes(text), payer=PAYER))

    async def job(self, job_type: str, **variables: object) -> Outcome:
        """Deliver one job."""
        self.jobs.append(len(self.jobs) + 1)
        [handler] = [one for one in all_handlers(self.services) if one.type == job_type]
        return await handler.handle(Job(self.jobs[-1], job_type, "Task", 1, 3, {}, variables))

    async def send(self, claim: str, retry: int = 0) -> Outcome:
        """One send of the claim, when its payer takes the next."""
        self.clock.wait(minutes=1)
        return await self.job("submit-claim", claimId=claim, payerId=PAYER, retryCount=retry)

    async def review(self, claim: str, refusal: Throw) -> Review:
        """What a person is asked after a permanent refusal."""
        error = refusal.variables["submissionError"]
        await self.job("open-review", claimId=claim, reviewReason="PERMANENT_ERROR", submissionError=error)
        async with self.store.reading() as tx:
            return (await tx.reviews.of_claim(claim))[-1]

    def took(self, number: str) -> bool:
        """Whether the payer has the batch."""
        return self.simulator.ledger.taken(PAYER, number) is not None


@asynccontextmanager
async def opened(
    store: Store, folder: Path, version: str, rule: Mapping[str, object]
) -> AsyncIterator[Scene]:
    """A payer of a version that does something else than usual by one rule."""
    played = Scenario.model_validate(
        {"payers": [{"registro_ans": PAYER, "version": version, "rules": [rule]}]}
    )
    cipher, clock = cipher_of(new_key("k1")), HandClock()
    async with simulated_payers(played, WallClock()) as simulator, message_broker() as broker:
        line = f'[payers.{PAYER}]\nendpoint = "{simulator.url}/{PAYER}"\nversion = "{version}"\n'
        async with (
            open_channels(payers_file(folder, line)) as channels,
            open_channel(Plaintext(broker.address)) as channel,
        ):
            reader = Reader(channels, IntakeTerms(1_000_000, timedelta(hours=48), ZONE))
            intake = Intake(store, ZeebeCommands(channel), clock, reader, Batches(channels, cipher))
            given = services(
                store,
                payer=gateway_to(channels, store, clock),
                payer_limits=limits_by_payer({PAYER: channels[PAYER].settings}),
                clock=clock,
                cipher=cipher,
                guides=GuideSearch(channels, cipher),
            )
            yield Scene(intake, given, simulator, clock, version)


async def resent_after_a_lost_answer(scene: Scene) -> Outcome:
    assert isinstance(await scene.send(SECOND), Throw)
    return await scene.send(SECOND, retry=1)


@pytest.mark.parametrize("version", Version)
async def test_a_batch_that_the_payer_refused_for_another_claims_guide_is_not_said_to_have_arrived(
    store: Store, tmp_path: Path, version: str
) -> None:
    async with opened(store, tmp_path, version, NO_ANSWER) as scene:
        await scene.hand_in("1", first=1)
        await scene.hand_in("2", first=1, guides=2)
        assert isinstance(await scene.send(OLDER), Complete)
        refused = await resent_after_a_lost_answer(scene)
        assert not scene.took("2")
        assert isinstance(refused, Throw)
        assert refused.variables["submissionErrorCode"] == "TISS:1308"
        review = await scene.review(SECOND, refused)
    assert review.reason == "ARRIVAL_UNKNOWN"
    assert f"{OLDER} (ACCEPTED)" in (review.detail or "")


@pytest.mark.parametrize(
    ("version", "word"), [(Version.V4_01_00, "1308"), (Version.V4_02_00, "1308"), (Version.V4_03_00, "3268")]
)
async def test_a_batch_that_arrived_unheard_is_known_by_the_word_that_its_version_has(
    store: Store, tmp_path: Path, version: str, word: str
) -> None:
    async with opened(store, tmp_path, version, TAKEN_UNHEARD) as scene:
        await scene.hand_in("1", first=1)
        await scene.hand_in("2", first=7, guides=2)
        assert isinstance(await scene.send(OLDER), Complete)
        assert await resent_after_a_lost_answer(scene) == Complete({"protocolNumber": None})
        assert scene.simulator.ledger.entries[-1].verdict == f"refused:{word}"
        assert scene.took("2")


@pytest.mark.parametrize("version", Version)
async def test_a_known_batch_number_is_proof_whoever_else_holds_a_guide(
    store: Store, tmp_path: Path, version: str
) -> None:
    """Before 4.03 the payer has no word for the number: there a person asks."""
    async with opened(store, tmp_path, version, TAKEN_UNHEARD) as scene:
        await scene.hand_in("2", first=1)
        assert isinstance(await scene.send(SECOND), Throw)
        await scene.hand_in("1", first=1)
        settled = await scene.send(SECOND, retry=1)
    is_proof = version == Version.V4_03_00
    assert isinstance(settled, Complete) is is_proof


async def test_a_claim_that_an_earlier_version_took_in_leaves_the_arrival_unknown(
    store: Store, tmp_path: Path
) -> None:
    async with opened(store, tmp_path, Version.V4_01_00, TAKEN_UNHEARD) as scene:
        await scene.hand_in("2", first=1)
        early = Arrival("CLM-EARLY-1", PAYER, NOW + timedelta(hours=48), "x", "9")
        await store.run(lambda tx: tx.claims.receive_all([(early, NOW)]))
        refused = await resent_after_a_lost_answer(scene)
        assert isinstance(refused, Throw)
        review = await scene.review(SECOND, refused)
    assert review.reason == "ARRIVAL_UNKNOWN"
    assert "the guides of earlier claims are not all on record" in (review.detail or "")


async def test_a_claim_under_a_name_that_its_payer_had_before_leaves_the_arrival_unknown(
    store: Store, tmp_path: Path
) -> None:
    async with opened(store, tmp_path, Version.V4_01_00, TAKEN_UNHEARD) as scene:
        await scene.hand_in("2", first=1)
        renamed = Arrival("CLM-EARLY-1", "earlier-name", NOW + timedelta(hours=48), "x", "9")
        await store.run(lambda tx: tx.claims.receive_all([(renamed, NOW)]))
        kept = kept_guides(cipher_of(new_key("k1")), ["GP-0009"])
        await store.run(lambda tx: tx.guides.keep(renamed, kept))
        refused = await resent_after_a_lost_answer(scene)
        assert isinstance(refused, Throw)
        assert (await scene.review(SECOND, refused)).reason == "ARRIVAL_UNKNOWN"


async def test_without_a_lost_answer_a_known_guide_is_a_refusal_that_names_code_and_guide(
    store: Store, tmp_path: Path
) -> None:
    async with opened(store, tmp_path, Version.V4_03_00, {"lote": "none", "then": {"do": "drop"}}) as scene:
        await scene.hand_in("1", first=1)
        await scene.hand_in("2", first=1)
        await scene.send(OLDER)
        refused = await scene.send(SECOND)
        assert isinstance(refused, Throw)
        assert (await scene.review(SECOND, refused)).reason == "PERMANENT_ERROR"
        async with store.reading() as tx:
            claim = await tx.claims.find(SECOND)
    assert refused.message == (
        "DUPLICATE_CLAIM - the payer has a guide of this batch already (TISS:1308, guide GP-0001)"
    )
    assert claim
    assert claim.state is ClaimState.IN_REVIEW


async def test_a_redelivered_job_is_answered_alike_whatever_became_of_the_other_claim(
    store: Store, tmp_path: Path
) -> None:
    async with opened(store, tmp_path, Version.V4_03_00, NO_ANSWER) as scene:
        await scene.hand_in("1", first=1)
        await scene.hand_in("2", first=1)
        await scene.send(OLDER)
        told = await resent_after_a_lost_answer(scene)
        await store.run(lambda tx: tx.claims.put(OLDER, PAYER, ClaimState.FAILED, now=NOW))
        scene.jobs.pop()
        assert await scene.send(SECOND, retry=1) == told
        assert scene.simulator.ledger.arrivals(PAYER, "2") == 2
