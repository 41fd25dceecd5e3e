"""Labels are bounded, and hold nobody's number."""

import pytest

from workers.app.telemetry.label_names import LabelNames, as_label

CPF = "529.982.247-25"


def test_twenty_have_a_name_and_the_rest_are_one() -> None:
    names = LabelNames()
    given = [names.of(f"payer-{number}") for number in range(25)]
    assert given[:20] == [f"payer-{number}" for number in range(20)]
    assert set(given[20:]) == {"other"}


def test_who_is_ranked_takes_the_place_of_who_came_first_but_not_of_who_is_known() -> None:
    names = LabelNames(["known"], at_most=3)
    assert [names.of(name) for name in ("first", "second", "third")] == ["first", "second", "other"]
    assert names.rank(["big", "second", "known", "small"]) == ("big",)
    assert names.named() == ("known", "second", "big")
    assert names.of("first") == "other"
    assert names.rank(["big", "second"]) == ()


def test_what_can_be_a_persons_takes_no_place_by_being_big() -> None:
    names = LabelNames(at_most=2)
    assert names.rank([CPF, "big"]) == ("big",)
    assert names.of("first") == "first"


def test_a_process_names_no_more_than_three_times_as_many_in_its_life() -> None:
    names = LabelNames(at_most=2)
    given = [names.rank([f"a-{number}", f"b-{number}"]) for number in range(5)]
    assert [len(one) for one in given] == [2, 2, 2, 0, 0]
    assert names.named() == ("a-2", "b-2")
    assert names.rank(["a-0", "b-4"]) == ("a-0",)  # whose series is there already


def test_a_name_is_never_taken_away_by_who_only_comes() -> None:
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
