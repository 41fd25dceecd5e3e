"""One text for people, classifier and proof: what cannot be seen is gone before anything is decided."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import redaction
from domain.legible import legible
from tests.unit.domain.deciding import BIL_004, BIL_005, decided, given_up, retried
from tests.unit.domain.test_inputs import rejection

UNSEEN = [
    "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\x00", "\x07", "\x7f", "\x9c", "\u202e", "\u2066",
    "\ufe0f", "\u034f", "\u180e", "\U000e0041", "\U000e0100", "\ud800", "\ue000",
]  # fmt: skip
ODD_BLANKS = [
    "\t", "\r\n", "\u00a0", "\u2003", "\u202f", "\u3000", "\u2028", "\x85", "\x1f", "\u2800", "\u3164",
]  # fmt: skip


@pytest.mark.parametrize("unseen", UNSEEN, ids=ascii)
def test_bil_004_v2_an_invisible_character_hides_no_permanent_word(unseen: str) -> None:
    decision = given_up(f"INVALID_PA{unseen}TIENT_DATA")
    assert decision.finding.category == "INVALID_PATIENT_DATA"
    assert decision.last_error == "INVALID_PATIENT_DATA"


@pytest.mark.parametrize("blank", ODD_BLANKS, ids=ascii)
def test_bil_004_v2_an_odd_blank_is_a_blank(blank: str) -> None:
    assert given_up(f"invalid{blank}procedure{blank}code").last_error == "INVALID_PROCEDURE_CODE"


@pytest.mark.parametrize("hyphen", "-\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", ids=ascii)
def test_bil_004_v2_every_hyphen_separates_words(hyphen: str) -> None:
    assert given_up(f"DUPLICATE{hyphen}CLAIM").finding.category == "DUPLICATE_CLAIM"


def test_bil_004_v2_wide_and_composed_letters_are_the_letters_that_people_read() -> None:
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in "DUPLICATE_CLAIM")
    assert given_up(wide).finding.category == "DUPLICATE_CLAIM"
    assert given_up("Login inva\u0301lido").finding.category == "ACCESS_DENIED"


@pytest.mark.parametrize("text", [*UNSEEN, *ODD_BLANKS, "".join(UNSEEN), "\u200b \u2003\x00"], ids=ascii)
def test_bil_004_v6_a_text_of_what_cannot_be_seen_is_empty(text: str) -> None:
    assert rejection(BIL_004, submissionError=text).rule == "BIL-004-V6"
    assert decided(text, BIL_005).warning == "INVALID_ERROR_MESSAGE"


def test_a_structured_code_is_folded_like_the_text() -> None:
    assert retried("x", submissionErrorCode="\u200bHTTP:503\u00a0").finding.matched == "HTTP:503"
    assert retried("TIMEOUT", submissionErrorCode="\u200b").finding.matched == "TIMEOUT"


def test_a_permanent_word_behind_any_number_of_invisible_characters_is_read() -> None:
    assert given_up("\u200b" * 1_000_000 + "DUPLICATE_CLAIM").finding.category == "DUPLICATE_CLAIM"


@given(st.text())
def test_a_legible_text_stays_as_it_is(text: str) -> None:
    once = legible(text)
    assert legible(once) == once
    assert once.replace("\n", "").isprintable()


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126)))
def test_what_can_be_seen_stays(text: str) -> None:
    assert legible(text) == text


@given(st.text(st.sampled_from(" \n\t\u00a0\u200bab"), max_size=60), st.integers(1, 7))
def test_a_long_text_is_folded_in_pieces_as_it_is_at_once(text: str, piece: int) -> None:
    with patch.multiple(redaction, INPUT_MAX=5, PIECE=piece, bound=lambda text: text[:6]):
        assert redaction.readable(text) == legible(text)[:6]
