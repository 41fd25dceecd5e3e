"""A file cannot make us slow: what is wrong with it is told in time that grows with its size alone."""

from collections.abc import Callable

import pytest

from gateways.tiss.lote import LoteRefusedError, read_lote
from gateways.tiss.messages import lote_message, seal
from gateways.tiss.names import Version
from gateways.tiss.validation import Schemas
from tests.security.hostile_files import HOSTILE, bad_procedures
from tests.support.effort import LINEAR, growth
from tests.support.tiss_samples import header

SCHEMAS = Schemas()


def told(data: bytes) -> list[str]:
    """What we say about a file."""
    try:
        lote = read_lote(data)
    except LoteRefusedError as refused:
        return [str(refused)]
    message = seal(lote_message(header(), lote), "iso-8859-1")
    return [str(violation) for violation in SCHEMAS.violations(message, Version.V4_03_00)]


@pytest.mark.parametrize("attack", HOSTILE, ids=lambda attack: attack.__name__)
def test_four_times_the_file_costs_no_more_than_a_few_times_the_work(attack: Callable[[int], bytes]) -> None:
    def telling(size: int) -> Callable[[], object]:
        data = attack(size)
        return lambda: told(data)

    assert growth(telling, 10_000) < LINEAR


def test_of_a_hundred_thousand_faults_the_first_twenty_are_told_where_they_stand() -> None:
    lines = told(bad_procedures(100_000))
    assert len(lines) == 20
    assert {line.partition(",")[0] for line in lines} == {"line 19"}
    assert all(", guide 1, " in line for line in lines)
