"""Digits for a text: stored rows and sent messages hold them, so they never change."""

import pytest

from domain.digits import digits_from


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("CLM-1\n1\nsend", "957532858496"),
        ("CLM-001-1", "589122289677"),
        ("12345678909", "135910710252655878"),
    ],
)
def test_a_text_gives_the_digits_it_always_gave(text: str, digits: str) -> None:
    assert digits_from(text, len(digits)) == digits


@pytest.mark.parametrize("length", [1, 12, 18, 19])
def test_there_are_always_as_many_digits_as_asked_for(length: int) -> None:
    for number in range(200):
        digits = digits_from(f"text {number}", length)
        assert len(digits) == length
        assert digits.isdigit()
