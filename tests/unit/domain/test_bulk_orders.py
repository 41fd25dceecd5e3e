"""Orders about many claims: turns by each payer's pace, and who may confirm them."""

from datetime import timedelta

import pytest

from domain.access import MAY, Role
from domain.bulk_orders import (
    MOST_ITEMS,
    NEEDS,
    BulkAction,
    BulkRefusal,
    PacedPayer,
    planned,
    require_number,
    require_second_person,
    set_mark,
)
from tests.support.builders import NOW, later

PACES = {"a": PacedPayer(NOW, timedelta(seconds=2)), "b": PacedPayer(later(minutes=5), timedelta(seconds=10))}


def test_each_payers_claims_have_turns_at_its_own_pace() -> None:
    plan = planned(["a", "b", "a", "c", "b", "a"], PACES, NOW)
    seconds = [(due - NOW).total_seconds() for due in plan.due]
    assert seconds == [0, 300, 2, 0, 310, 4]
    assert plan.ends == later(seconds=310)


def test_nothing_to_do_ends_at_once() -> None:
    assert planned([], PACES, NOW).ends == NOW


def test_a_set_is_known_again_whatever_its_order() -> None:
    assert set_mark(["b", "a"]) == set_mark(["a", "b"]) != set_mark(["a", "c"])


def test_who_proposes_does_not_confirm() -> None:
    require_second_person("ana", "bia")
    with pytest.raises(BulkRefusal) as refused:
        require_second_person("ana", "ana")
    assert refused.value.why == "same_person"


@pytest.mark.parametrize(("number", "why"), [(0, "none"), (MOST_ITEMS + 1, "too_many")])
def test_an_order_is_about_some_and_not_about_too_many(number: int, why: str) -> None:
    with pytest.raises(BulkRefusal) as refused:
        require_number(number)
    assert refused.value.why == why
    require_number(MOST_ITEMS)


def test_only_billing_management_writes_off_and_operations_releases_incidents() -> None:
    able = {action: {role for role in Role if NEEDS[action] in MAY[role]} for action in BulkAction}
    assert able[BulkAction.WRITE_OFF] == {Role.BILLING_MANAGEMENT}
    assert able[BulkAction.RESOLVE] == {Role.OPERATIONS}
    assert able[BulkAction.RESEND] == {Role.BILLING, Role.BILLING_MANAGEMENT}
