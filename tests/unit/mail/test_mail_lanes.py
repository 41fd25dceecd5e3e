"""Lanes: a closed set of names, the same everywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.lanes import MOST_LANES, all_lanes, lane_of, lanes_by_choice

COMPANY = "789e4567-e89b-12d3-a456-426614174999"
numbers = st.integers(1, MOST_LANES)


@given(st.text(max_size=80), numbers)
def test_a_lane_is_one_of_those_there_are(company: str, lanes: int) -> None:
    assert lane_of(company, lanes) in all_lanes(lanes)


@given(st.text(max_size=80), st.integers(1, 64))
def test_a_company_looks_for_a_free_lane_in_every_lane_once_and_first_at_home(
    company: str, lanes: int
) -> None:
    choice = list(lanes_by_choice(company, lanes))
    assert choice[0] == lane_of(company, lanes)
    assert sorted(choice) == sorted(all_lanes(lanes))


def test_the_home_lane_never_changes_between_processes_and_versions() -> None:
    assert (lane_of(COMPANY, 1), lane_of(COMPANY, 64), lane_of(COMPANY, 1_000)) == ("0", "8", "80")


@given(st.text(max_size=80), numbers)
def test_a_lane_is_safe_as_the_end_of_a_job_type(company: str, lanes: int) -> None:
    assert lane_of(company, lanes).isascii()
    assert lane_of(company, lanes).isdigit()


@pytest.mark.parametrize("lanes", [0, -1, MOST_LANES + 1])
def test_a_number_of_lanes_that_makes_no_sense_is_refused(lanes: int) -> None:
    with pytest.raises(ValueError, match="1 to 1024 lanes"):
        lane_of(COMPANY, lanes)


def test_companies_spread_over_the_lanes() -> None:
    used = {lane_of(f"company-{number}", 64) for number in range(1_000)}
    assert used == set(all_lanes(64))
