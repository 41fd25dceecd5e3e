"""A megabyte of anything is bounded first, then decided; no text makes a regular expression run away.

How long each takes is measured by `python -m tests.bench.decision`; here every case must simply end, and a
runaway expression would meet the suite's own time limit.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.redaction import INPUT_MAX, TEXT_MAX
from tests.unit.domain.deciding import BIL_005, POLICY, decided

MEGABYTE = 1_000_000
UNITS = [
    "1", "1 ", "1-", "\u0661", "a", "A_", "_", " ", "\n", "\x00", "\u200b", "\ud800", "ã", "\U0001f600",
    "@", "a@", "//", "<", "<nome>", "</nome>", "&lt;", "&lt;nome&gt;", "nome=", "nome:'", 'nome="\\',
    "cpf", "cpf ", "cpf n. ", "_cpf", "CLM-", "CLM-a-1", "lote ", "lote 1", "guia#>",
    "HTTP ", "HTTP status ", "HTTP/1.1 50", "TISS ", "codigo da glosa ", "503", "503 ", "503,", "TIMEOU",
    "2025-01-12 ", "12:", "observacao: ", "justificativa", "carteira n", "A1.B2C.",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS, ids=[ascii(unit) for unit in UNITS])
def test_a_megabyte_of_it_is_decided(unit: str) -> None:
    text = (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]
    decision = decided(text, BIL_005)
    assert len(decision.last_error) <= TEXT_MAX
    assert decision.last_error.isprintable()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(UNITS), min_size=1, max_size=6))
def test_a_megabyte_of_any_mixture_is_decided(units: list[str]) -> None:
    unit = "".join(units)
    text = (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]
    assert decided(text, BIL_005).last_error.isprintable()


@pytest.mark.parametrize("word", [word for word, _ in POLICY.catalog.permanent_words])
def test_a_permanent_word_deep_in_a_long_text_still_wins(word: str) -> None:
    text = "TIMEOUT " + "x " * (INPUT_MAX // 2 - 100) + word + " " + "y " * MEGABYTE
    assert decided(text, BIL_005).finding.permanent
