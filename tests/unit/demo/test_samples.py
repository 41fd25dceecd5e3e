"""The demo's claims, files and payers fit together, and each claim meets the answers of its fate."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateways.practice.simulator.scenario import PayerScenario
from tests.support.payers_file import payers_file as written
from workers.claims.examination import Channels, ClaimFile, Examined, examine
from workers.demo.files import CORRECTED_CARD, batch_file
from workers.demo.payers import MAINTENANCE, OUTAGE, PAYERS, REGISTRO, payers_file, scenario
from workers.demo.samples import HILLS, SOUTH, Sample, samples
from workers.payers.channels import open_channels
from workers.payers.limits import limits_from

START = datetime(2026, 1, 12, 10, 40, 3, 250_000, tzinfo=UTC)
SAMPLES = samples()


@pytest.fixture(scope="module")
async def channels(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Channels]:
    folder: Path = tmp_path_factory.mktemp("demo")
    async with open_channels(written(folder, payers_file("http://127.0.0.1:1", START))) as opened:
        yield opened


def examined(data: bytes, channels: Channels) -> Examined:
    return examine(ClaimFile(data), channels, START, max_bytes=100_000)


def simulated(payer_id: str) -> PayerScenario:
    return next(payer for payer in scenario(SAMPLES).payers if payer.registro_ans == REGISTRO[payer_id])


def test_there_are_about_twenty_claims_with_ids_and_batches_of_their_own() -> None:
    assert 18 <= len(SAMPLES) <= 24
    assert len({sample.claim_id for sample in SAMPLES}) == len(SAMPLES)
    assert len({sample.batch for sample in SAMPLES}) == len(SAMPLES)
    assert {sample.payer_id for sample in SAMPLES} == {payer.payer_id for payer in PAYERS}


async def test_every_claims_file_is_one_its_payer_can_be_sent(channels: Channels) -> None:
    for sample in SAMPLES:
        found = examined(batch_file(sample.batch, REGISTRO[sample.payer_id]), channels)
        assert (found.payer_id, found.batch_number) == (sample.payer_id, sample.batch)


async def test_a_corrected_file_is_the_same_batch_with_other_content(channels: Channels) -> None:
    first = examined(batch_file("6001", "999003"), channels)
    corrected = examined(batch_file("6001", "999003", card=CORRECTED_CARD), channels)
    assert first.batch_number == corrected.batch_number
    assert first.digest != corrected.digest


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.claim_id)
def test_the_payer_gives_each_claim_its_answers_in_order(sample: Sample) -> None:
    rules = [rule for rule in simulated(sample.payer_id).rules if rule.lote == sample.batch]
    assert [rule.then for rule in rules] == list(sample.answers)
    assert [rule.arrivals for rule in rules] == [(n,) for n in range(1, len(rules) + 1)]


async def test_a_planned_maintenance_is_known_beforehand_and_an_outage_is_not(channels: Channels) -> None:
    announced, outage = (limits_from(channels[name].settings).windows for name in (HILLS, SOUTH))
    assert [(window.start, window.end) for window in announced] == [(START, START + MAINTENANCE)]
    assert outage == ()
    for payer_id, length in ((HILLS, MAINTENANCE), (SOUTH, OUTAGE)):
        (down,) = simulated(payer_id).outages
        assert down.covers(START, START)
        assert down.covers(START + length - timedelta(seconds=1), START)
        assert not down.covers(START + length, START)


async def test_claims_that_come_late_find_the_breaker_open(channels: Channels) -> None:
    early = [sample for sample in SAMPLES if sample.payer_id == SOUTH and not sample.late]
    late = [sample for sample in SAMPLES if sample.late]
    assert {sample.payer_id for sample in late} == {SOUTH}
    assert len(early) == limits_from(channels[SOUTH].settings).threshold
