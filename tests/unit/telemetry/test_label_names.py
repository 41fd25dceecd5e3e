"""Labels are bounded, and hold nobody's number."""

import pytest

from workers.app.telemetry.label_names import LabelNames, as_label

CPF = "529.982.247-25"


def test_twenty_have_a_name_and_the_rest_are_one() -> None:
    names = LabelNames()
    given = [names.of(f"payer-{number}") for number in range(25)]
    assert given[:20] == [f"payer-{number}" for number in range(20)]
    assert set(given[20:]) == {"other"}


def test_a_name_is_never_taken_away_again() -> None:
    names = LabelNames()
    assert [names.of(f"payer-{number}") for number in range(30)][-1] == "other"
    assert names.of("payer-3") == "payer-3"


def test_who_is_known_comes_before_who_is_seen() -> None:
    names = LabelNames(f"known-{number}" for number in range(20))
    assert names.of("stranger") == "other"
    assert names.of("known-19") == "known-19"


@pytest.mark.parametrize("name", [CPF, "52998224725", "Maria da Silva", "a" * 65, "", "x\n", 'a"b'])
def test_what_can_be_a_persons_or_is_no_name_is_among_the_others(name: str) -> None:
    names = LabelNames()
    assert names.of(name) == "other"
    assert names.named() == ()


def test_nobody_is_said_to_be_nobody() -> None:
    assert LabelNames().of(None) == "none"


def test_what_anybody_may_write_is_named_only_where_it_is_known_and_takes_no_place() -> None:
    names = LabelNames(["payer-1"], at_most=2)
    assert [names.known(name) for name in ("Maria.da.Silva_1975-03-02", "payer-1", None)] == [
        "other",
        "payer-1",
        "none",
    ]
    assert names.named() == ("payer-1",)
    assert names.of("payer-2") == names.known("payer-2") == "payer-2"


@pytest.mark.parametrize("name", ["other", "none"])
def test_who_is_called_like_a_word_of_ours_is_among_the_others(name: str) -> None:
    names = LabelNames([name])
    assert (names.of(name), names.known(name), as_label(name)) == ("other", "other", "other")
    assert names.named() == ()
