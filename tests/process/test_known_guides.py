"""A guide that the payer knows is not a batch that arrived: on a real broker, with the payer's own ledger."""

from collections.abc import AsyncIterator

import pytest

from domain.claim_state import ClaimState
from gateways.tiss.messages import Batch
from gateways.zeebe import engine
from persistence.repositories.reviews import Review
from tests.process.hospital import Hospital, claim_file, claim_id, open_hospital
from tests.process.stage import eventually
from tests.support.tiss_samples import CALL, PAYER, PROVIDER
from workers.claims.examination import ClaimFile


@pytest.fixture(scope="module")
async def hospital(
    broker: engine.RunningEngine, broker_config: engine.EngineConfig, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Hospital]:
    folder = tmp_path_factory.mktemp("hospital")
    async with open_hospital(broker, broker_config.home, folder) as opened:
        yield opened


async def asked(hospital: Hospital, claim: str, times: int) -> Review:
    """Wait until people are asked about a claim so many times; the last question."""

    async def look() -> Review | None:
        async with hospital.app.store.reading() as tx:
            reviews, row = await tx.reviews.of_claim(claim), await tx.claims.find(claim)
        is_open = row is not None and row.state is ClaimState.IN_REVIEW
        return reviews[-1] if is_open and len(reviews) == times else None

    return await eventually(look, f"review {times} of {claim}")


async def test_a_batch_refused_for_a_guide_of_another_claim_has_not_arrived_and_every_way_out_is_open(
    hospital: Hospital,
) -> None:
    older, claim, reenvio = claim_id("6501"), claim_id("6601"), hospital.reenvio
    shared = claim_file("6601", first=6501)
    async with hospital.working():
        await hospital.app.intake.submit(ClaimFile(claim_file("6501")))
        await hospital.reaches(older, ClaimState.ACCEPTED)
        await hospital.app.intake.submit(ClaimFile(shared))  # its first send gets no answer
        await hospital.awaits_its_retry(claim)
        await reenvio("claim", "retry-now", claim)
        review = await asked(hospital, claim, 1)
        assert hospital.simulator.ledger.taken(PAYER, "6601") is None
        assert review.reason == "ARRIVAL_UNKNOWN"
        for fact in ("TISS:1308", "guide GP-6501", f"{older} (ACCEPTED)", "PROTOCOL_RECOVERED", "WRITE_OFF"):
            assert fact in (review.detail or "")

        other = hospital.write("other.xml", claim_file("6601", first=6602))
        code, said = await reenvio("claim", "review", claim, "CORRECTED", "--file", other)
        assert (code, "guide numbers are not those" in said) == (1, True), said
        same = hospital.write("same.xml", shared.replace(b"150.00", b"160.00"))
        code, said = await reenvio("claim", "review", claim, "CORRECTED", "--file", same)
        assert code == 0, said
        assert (await asked(hospital, claim, 2)).reason == "ARRIVAL_UNKNOWN"

        client = hospital.app.channels[PAYER].client
        await client.cancel(PROVIDER, Batch("6501"), CALL)  # the payer gives the guide free
        code, said = await reenvio("claim", "review", claim, "RESEND")
        assert code == 0, said
        await hospital.reaches(claim, ClaimState.ACCEPTED)
    assert hospital.arrivals("6601") == 4
    assert hospital.simulator.ledger.times_taken()[PAYER, "6601"] == 1
