"""Fairness by tenant, row by row of 03-retry-backoff-dlq."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from domain.mail.fairness import (
    MOST_KNOWN,
    Fairness,
    FairnessTerms,
    round_robin_priority,
    weights_by_tier,
)

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)


def drained(
    backlog: Mapping[str, int], terms: FairnessTerms | None = None, *, room: int = 3
) -> tuple[list[str], Fairness]:
    """Who was served, job by job, until nothing waits; and where the round robin stands then."""
    left, order = dict(backlog), list[str]()
    fairness = Fairness(terms or FairnessTerms())
    while waiting := [tenant for tenant, number in left.items() if number]:
        fairness = fairness.seen(waiting)
        turn = fairness.next_turn(waiting)
        number = min(turn.most, room, left[turn.tenant])
        fairness = fairness.served(turn.tenant, number, NOW + timedelta(seconds=len(order)))
        left[turn.tenant] -= number
        order += [turn.tenant] * number
    return order, fairness


backlogs = st.dictionaries(st.sampled_from("ABCDEFGHIJ"), st.integers(1, 40), min_size=1)


@given(backlogs, st.dictionaries(st.sampled_from("ABCDEFGHIJ"), st.sampled_from([0.2, 1.0, 2.0, 5.0, 10.0])))
def test_nobody_waits_longer_than_is_fair_with_those_that_wait(
    backlog: dict[str, int], weights: dict[str, float]
) -> None:
    left, fairness = dict(backlog), Fairness(FairnessTerms(weights=weights))
    fair = fairness.seen(list(backlog)).fair_rounds()
    assert weights.keys() & backlog.keys() or fair == len(backlog) - 1
    while waiting := [tenant for tenant, number in left.items() if number]:
        fairness = fairness.seen(waiting)
        assert max(fairness.rounds_without(tenant) for tenant in waiting) <= fair
        turn = fairness.next_turn(waiting)
        number = min(turn.most, left[turn.tenant])
        fairness = fairness.served(turn.tenant, number, NOW)
        left[turn.tenant] -= number


@pytest.mark.parametrize(("rounds", "priority"), [(0, 5), (1, 4), (2, 3), (3, 2), (4, 1), (5, 1), (100, 1)])
def test_priority_rises_by_one_per_round_without_processing_from_5_to_1(rounds: int, priority: int) -> None:
    assert round_robin_priority(rounds) == priority


@given(backlogs, st.integers(1, 5), st.integers(1, 5))
def test_no_tenant_gets_more_than_its_batch_in_a_row_while_others_wait(
    backlog: dict[str, int], batch: int, room: int
) -> None:
    order, _ = drained(backlog, FairnessTerms(batch=batch), room=room)
    left = Counter(backlog)
    for tenant, run in groupby(order):
        length = len(list(run))
        left[tenant] -= length
        others = sum(left.values()) - left[tenant]
        assert length <= batch or others == 0


@given(backlogs)
def test_everybody_is_served_and_nobody_waits_longer_than_one_turn_of_each_other(
    backlog: dict[str, int],
) -> None:
    order, _ = drained(backlog)
    assert Counter(order) == Counter(backlog)
    for tenant in backlog:
        places = [-1, *(place for place, served in enumerate(order) if served == tenant)]
        gaps = [later - before - 1 for before, later in pairwise(places)]
        assert max(gaps) <= 3 * (len(backlog) - 1)


@given(backlogs, st.integers(1, 3))
def test_a_tenant_that_comes_later_waits_for_one_turn_of_each_who_waits(
    backlog: dict[str, int], turns: int
) -> None:
    waiting, fairness = list(backlog), Fairness()
    for _ in range(turns):
        fairness = fairness.seen(waiting)
        fairness = fairness.served(fairness.next_turn(waiting).tenant, 3, NOW)
    waiting.append("NEW")
    turns_of_others = 0
    while True:
        fairness = fairness.seen(waiting)
        turn = fairness.next_turn(waiting)
        if turn.tenant == "NEW":
            break
        fairness = fairness.served(turn.tenant, turn.most, NOW)
        turns_of_others += 1
    assert turns_of_others <= len(backlog)


def test_a_turn_goes_on_until_the_batch_is_full_and_then_passes_on() -> None:
    order, _ = drained({"A": 5, "B": 4, "C": 1}, room=1)
    assert "".join(order) == "AAABBBCAAB"


def test_a_tenant_alone_goes_on_and_gives_way_at_once_when_another_comes() -> None:
    fairness = Fairness().seen(["A"])
    for _ in range(4):
        fairness = fairness.served("A", fairness.next_turn(["A"]).most, NOW).seen(["A"])
    assert fairness.in_a_row == 12
    assert fairness.seen(["A", "B"]).next_turn(["A", "B"]).tenant == "B"


def test_switched_off_whoever_came_first_is_served_until_nothing_of_it_waits() -> None:
    order, _ = drained({"B": 40, "A": 2}, FairnessTerms(enabled=False), room=5)
    assert "".join(order) == "B" * 40 + "AA"


def test_the_six_figures_of_a_tenant_stand_under_the_documents_names() -> None:
    waiting = ["A", "B"]
    fairness = Fairness().seen(waiting).served("A", 2, NOW).served("A", 1, NOW + timedelta(seconds=1))
    served, passed_over = (one.as_document() for one in fairness.metrics())
    assert served == {
        "companyId": "A",
        "lastProcessedAt": "2026-01-12T10:40:01.000+00:00",
        "roundsWithoutProcessing": 0,
        "currentPriority": 5,
        "totalProcessed": 3,
        "consecutiveBatchCount": 3,
    }
    assert passed_over == {
        "companyId": "B",
        "roundsWithoutProcessing": 1,
        "currentPriority": 4,
        "totalProcessed": 0,
        "consecutiveBatchCount": 0,
    }


def test_rounds_are_counted_while_something_waits_and_not_while_nothing_does() -> None:
    fairness = Fairness().seen(["A", "B", "C"]).served("A", 3, NOW).served("B", 3, NOW)
    assert [fairness.rounds_without(tenant) for tenant in "ABC"] == [1, 0, 2]
    assert [fairness.priority(tenant) for tenant in "ABC"] == [4, 5, 3]
    without_c = fairness.seen(["A", "B"])
    assert without_c.rounds_without("C") == 0
    assert without_c.seen(["A", "B", "C"]).rounds_without("C") == 0


def test_a_lane_found_empty_changes_nothing() -> None:
    fairness = Fairness().seen(["A", "B"])
    assert fairness.served("A", 0, NOW) is fairness


def test_only_tenants_that_wait_or_were_served_have_figures() -> None:
    fairness = Fairness().seen(["A", "B"]).served("A", 1, NOW).seen([])
    assert [one.company_id for one in fairness.metrics()] == ["A"]


def test_what_is_known_of_tenants_is_bounded_and_the_least_recently_served_goes_first() -> None:
    everybody = [f"t{number}" for number in range(MOST_KNOWN)]
    fairness = Fairness().seen(everybody).served("t0", 1, NOW).seen([]).seen(["new"])
    assert len(fairness.standings) == MOST_KNOWN
    assert "t0" in fairness.standings
    assert "new" in fairness.standings


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.sampled_from("ABCDEFGH"), st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=4))
def test_a_tenant_of_double_weight_has_twice_as_many_turns(weights: dict[str, float]) -> None:
    total, waiting = sum(weights.values()), list(weights)
    assume(max(weights.values()) <= total / 2)  # nobody has two turns in a row while others wait
    fairness, order = Fairness(FairnessTerms(weights=weights)), list[str]()
    for _ in range(300):
        fairness = fairness.seen(waiting)
        order.append(fairness.next_turn(waiting).tenant)
        fairness = fairness.served(order[-1], 3, NOW)
    shares = {tenant: 300 * weight / total for tenant, weight in weights.items()}
    assert Counter(order) == pytest.approx(shares, abs=4)


@given(backlogs, st.integers(1, 5))
def test_whoever_is_served_next_has_the_most_urgent_priority_of_those_whose_turn_it_may_be(
    backlog: dict[str, int], room: int
) -> None:
    left, fairness = dict(backlog), Fairness()
    while waiting := [tenant for tenant, number in left.items() if number]:
        fairness = fairness.seen(waiting)
        turn = fairness.next_turn(waiting)
        goes_on = turn.tenant == fairness.current and fairness.in_a_row < 3
        others = [tenant for tenant in waiting if tenant != fairness.current] or waiting
        assert goes_on or fairness.priority(turn.tenant) == min(map(fairness.priority, others))
        number = min(turn.most, room, left[turn.tenant])
        fairness = fairness.served(turn.tenant, number, NOW)
        left[turn.tenant] -= number


def test_weights_come_from_tiers_and_a_tier_without_one_is_refused() -> None:
    assert weights_by_tier({"A": "gold", "B": "free"}, {"gold": 3, "free": 0.5}) == {"A": 3, "B": 0.5}
    with pytest.raises(ValueError, match="tier silver"):
        weights_by_tier({"A": "silver"}, {"gold": 3})


@pytest.mark.parametrize(
    "terms", [{"batch": 0}, {"step": -1}, {"top_priority": 6}, {"weights": {"A": 0.0}}], ids=str
)
def test_terms_by_which_somebody_is_never_served_are_refused(terms: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"batch|weight"):
        FairnessTerms(**terms)  # type: ignore[arg-type]


def test_in_a_shared_queue_each_is_counted_for_itself_and_the_turn_is_the_one_whose_turn_it_was() -> None:
    fair = Fairness().seen(["a", "b", "c"]).took("a", ["b", "b", "a"], NOW)
    found = {one.company_id: one for one in fair.metrics()}
    assert {name: one.total_processed for name, one in found.items()} == {"a": 1, "b": 2, "c": 0}
    assert {name: one.rounds_without_processing for name, one in found.items()} == {"a": 0, "b": 0, "c": 1}
    assert {name: one.consecutive_batch_count for name, one in found.items()} == {"a": 1, "b": 0, "c": 0}


def test_who_finds_only_others_mail_in_its_queue_is_passed_over_but_keeps_nobody_from_their_turn() -> None:
    fair = Fairness().seen(["a", "b", "c"])
    turns: list[str] = []
    for _ in range(9):
        turn = fair.next_turn(["a", "b", "c"])
        turns.append(turn.tenant)
        fair = fair.took(turn.tenant, ["b" if turn.tenant == "a" else turn.tenant] * 3, NOW)
    assert Counter(turns)["c"] >= 3
    assert fair.rounds_without("a") == fair.round


@pytest.mark.parametrize("is_known_first", [True, False])
def test_a_job_that_was_set_back_is_not_counted_as_processed(is_known_first: bool) -> None:
    fair = Fairness().seen(["a"])
    fair = (
        fair.set_back("a").served("a", 3, NOW) if is_known_first else fair.served("a", 3, NOW).set_back("a")
    )
    assert [one.total_processed for one in fair.metrics()] == [2]
