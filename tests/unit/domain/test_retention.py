"""How long records are kept: each kind by its own period, the log for five years at least."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.retention import LOG_YEARS_AT_LEAST, YEAR, Periods, RecordKind

NOW = datetime(2031, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "period"),
    [
        (RecordKind.LOG, 5 * YEAR),
        (RecordKind.HISTORY, 5 * YEAR),
        (RecordKind.PAYLOAD, timedelta(days=90)),
        (RecordKind.PUBLISHED, timedelta(days=30)),
    ],
)
def test_each_kind_of_record_is_due_after_its_own_period(kind: RecordKind, period: timedelta) -> None:
    assert Periods().cutoff(kind, NOW) == NOW - period


def test_every_kind_has_a_period() -> None:
    assert all(Periods().cutoff(kind, NOW) < NOW for kind in RecordKind)


def test_the_log_is_kept_for_five_years_at_least() -> None:
    assert Periods().log >= LOG_YEARS_AT_LEAST * YEAR == timedelta(days=1826.25)


def test_counts_of_errors_are_kept_for_ever_unless_somebody_says_otherwise() -> None:
    assert Periods().error_analysis is None
