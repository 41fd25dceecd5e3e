"""Another deadline: what is meant by what somebody writes, how it is kept, which waits it cuts."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from domain.deadline_changes import DeadlineChange, cuts_wait, read_change, wished_deadline
from domain.refusals import Refusal

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
ZONE = ZoneInfo("America/Sao_Paulo")
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-03-03T18:00", datetime(2026, 3, 3, 21, tzinfo=UTC)),
        ("2026-03-03T18:00:00+00:00", datetime(2026, 3, 3, 18, tzinfo=UTC)),
        ("48h", NOW + 48 * HOUR),
        (" None ", None),
    ],
)
def test_a_time_without_an_offset_is_read_in_the_policys_zone(text: str, meant: datetime | None) -> None:
    assert wished_deadline(text, NOW, ZONE) == meant


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2026-03-02T08:59", "2026-03-02T12:00Z", "9999-12-31T00:00"]
)
def test_what_is_no_moment_ahead_is_refused_with_field_rule_and_remedy(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        wished_deadline(text, NOW, ZONE)
    assert refused.value.field == "deadline"
    assert refused.value.rule
    assert refused.value.remedy


@pytest.mark.parametrize("before", [NOW, None])
@pytest.mark.parametrize("after", [NOW + HOUR, None])
def test_an_order_keeps_what_it_takes_to_set_it_back(after: datetime | None, before: datetime | None) -> None:
    change = DeadlineChange(after, before)
    assert read_change(change.action) == change
    assert len(change.action) <= 64  # as long as an order's name may be


@pytest.mark.parametrize("action", ["cancel", "deadline", "deadlines x, before y", "hold"])
def test_other_orders_change_no_deadline(action: str) -> None:
    assert read_change(action) is None


def test_a_wait_is_cut_where_it_would_reach_into_the_time_kept_for_a_person() -> None:
    deadline, reserve = NOW + 6 * HOUR, 4 * HOUR
    assert not cuts_wait(NOW + 2 * HOUR, deadline, reserve)
    assert cuts_wait(NOW + 2 * HOUR + timedelta(seconds=1), deadline, reserve)
    assert not cuts_wait(None, deadline, reserve)
    assert not cuts_wait(NOW + 9 * HOUR, None, reserve)
