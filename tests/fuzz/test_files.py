"""Mutated files and requests are refused in words without content, or read; never a crash."""

import random

import pytest

from gateways.practice.simulator.ledger import Ledger
from gateways.practice.simulator.payer import SimulatedPayer, SimulatorParts
from gateways.practice.simulator.scenario import PayerScenario
from gateways.tiss.lote import LoteRefusedError, read_lote
from gateways.tiss.messages import lote_message, seal
from gateways.tiss.names import Version
from gateways.tiss.validation import Schemas, unwritable
from tests.fuzz.mutations import mutated
from tests.support.simulator import batch
from tests.support.tiss_samples import CARD, DOCTOR, NOW, PAYER, file_bytes, file_text, header, lote

FILE = file_bytes(file_text(guides=2))
SCHEMAS = Schemas()
AT_ONCE = 250


def told(data: bytes) -> list[str]:
    """What we say about a file."""
    try:
        read = read_lote(data)
    except LoteRefusedError as error:
        return [str(error)]
    message = lote_message(header(), read)
    found = unwritable(message, "iso-8859-1")
    if not found:
        found = SCHEMAS.violations(seal(message, "iso-8859-1"), Version.V4_03_00)
    return [str(violation) for violation in found]


@pytest.mark.parametrize("start", range(0, 2_000, AT_ONCE))
def test_a_mutated_file_is_read_or_refused_without_a_word_of_its_content(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        for line in told(mutated(FILE, seed)):
            assert "\n" not in line, seed
            assert CARD not in line, seed
            assert DOCTOR not in line, seed


@pytest.mark.parametrize("start", range(0, 2_000, AT_ONCE))
def test_a_mutated_request_is_answered_and_only_its_own_batch_is_taken(start: int) -> None:
    request = batch(lote())
    for seed in range(start, start + AT_ONCE):
        ledger = Ledger()
        payer = SimulatedPayer(
            PayerScenario(registro_ans=PAYER), SimulatorParts(ledger, SCHEMAS, random.Random(1), NOW)
        )
        assert payer.answer(mutated(request, seed), NOW).status in (200, 500), seed
        assert set(ledger.times_taken()) <= {(PAYER, "200000000001")}, seed
