"""Deadlines: a moment or a duration, always ahead."""

import contextlib
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.intake import IntakeTerms, deadline_from
from domain.refusals import Refusal, RefusalKind

NOW = datetime(2026, 1, 15, 13, 30, tzinfo=UTC)
ZONE = ZoneInfo("America/Sao_Paulo")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("48h", NOW + timedelta(hours=48)),
        ("1d12h", NOW + timedelta(hours=36)),
        ("PT30M", NOW + timedelta(minutes=30)),
        ("2026-01-16T18:00:00-03:00", datetime(2026, 1, 16, 21, tzinfo=UTC)),
        ("2026-01-16T18:00:00Z", datetime(2026, 1, 16, 18, tzinfo=UTC)),
        (" 2026-01-16 18:00 ", datetime(2026, 1, 16, 21, tzinfo=UTC)),
    ],
)
def test_a_moment_or_a_duration_is_understood(text: str, expected: datetime) -> None:
    assert deadline_from(text, NOW, ZONE) == expected


@pytest.mark.parametrize(
    "text", ["soon", "", "48", "2026-13-01", "99999999999999h", "2026-01-16T18:00:00 03:00"]
)
def test_anything_else_is_refused_with_both_forms(text: str) -> None:
    with pytest.raises(Refusal, match="48h, or a moment such as") as refused:
        deadline_from(text, NOW, ZONE)
    assert (refused.value.kind, refused.value.field) == (RefusalKind.MALFORMED, "deadline")


@pytest.mark.parametrize("text", ["0h", "2026-01-15T10:30:00-03:00", "2020-01-01"])
def test_a_deadline_that_is_not_ahead_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="not in the future") as refused:
        deadline_from(text, NOW, ZONE)
    assert refused.value.kind is RefusalKind.UNPROCESSABLE


@given(st.text())
def test_no_text_is_a_crash(text: str) -> None:
    with contextlib.suppress(Refusal):
        assert deadline_from(text, NOW, ZONE) > NOW


def test_a_claim_that_names_no_deadline_is_due_as_the_terms_say() -> None:
    terms = IntakeTerms(1_000, timedelta(hours=48), ZONE)
    assert [terms.due(given, NOW) for given in (None, "", "9h")] == [
        NOW + timedelta(hours=48),
        NOW + timedelta(hours=48),
        NOW + timedelta(hours=9),
    ]
