"""What becomes of stored claims by other rules: outages by the clock, the rest as each claim had it."""

from dataclasses import replace
from datetime import timedelta

from domain.limit_rules import LimitRule
from domain.payer_status import PayerLimits
from domain.policy import Policy
from domain.submission import AccessDenied, AnswerLost
from domain.what_if.figures import agreement, figures, peak_load
from domain.what_if.history import Ending, PayerHold, PlayedClaim, StoredHistory
from domain.what_if.play import Rules, play
from tests.support.builders import NOW, POLICY, later
from tests.support.past import DOWN, REFUSED, SLOW, TAKEN, UNPACED, history, past, rules, sent
from workers.policy import parse_policy
from workers.policy.file import default_text


def with_limits(**limits: int) -> Policy:
    return replace(POLICY, limits=replace(POLICY.limits, **limits))


def one(stored: StoredHistory, by: Rules) -> PlayedClaim:
    [played] = play(stored, by)
    return played


OUTAGE = history(
    past(1, [sent(NOW, DOWN), sent(later(minutes=5), DOWN), sent(later(minutes=30), TAKEN)]),
    past(2, [sent(later(minutes=29), TAKEN)]),
)


def test_a_claim_that_was_taken_at_once_is_taken_at_once() -> None:
    played = one(history(past(1, [sent(NOW, TAKEN)])), rules())
    assert (played.ending, played.sends) == (Ending.AT_ONCE, (NOW,))
    assert not played.has_failed


def test_an_outage_keeps_failing_sends_until_the_middle_of_what_nobody_knows() -> None:
    early = play(OUTAGE, rules(with_limits(base_seconds=300)))[0]
    assert early.ending is Ending.RECOVERED
    assert all(at < later(minutes=17) for at in early.sends[:-1])
    assert early.sends[-1] >= later(minutes=17)
    assert early.unsure == sum(later(minutes=5) < at < later(minutes=29) for at in early.sends)


def test_fewer_retries_lose_a_claim_that_an_outage_kept_away() -> None:
    lost = play(OUTAGE, rules(with_limits(max_retries=1)))[0]
    assert (lost.ending, len(lost.sends)) == (Ending.RETRIES, 2)


def test_an_outage_whose_end_nobody_saw_goes_on() -> None:
    played = one(history(past(1, [sent(NOW, DOWN)], ending=Ending.RUNNING)), rules())
    assert (played.ending, len(played.sends)) == (Ending.RETRIES, POLICY.limits.max_retries + 1)
    assert played.unsure == POLICY.limits.max_retries


def test_what_is_a_claims_own_failure_comes_in_the_order_it_came() -> None:
    stored = history(past(1, [sent(NOW, SLOW), sent(later(hours=3), SLOW), sent(later(hours=9), TAKEN)]))
    played = one(stored, rules())
    assert (played.ending, len(played.sends)) == (Ending.RECOVERED, 3)
    assert played.sends[-1] < later(hours=1)


def test_a_claim_that_is_really_not_over_is_played_no_further_than_it_is_known() -> None:
    sends = [sent(NOW, SLOW), sent(later(hours=3), SLOW)]
    going_on = one(history(past(1, sends, ending=Ending.RUNNING)), rules())
    assert (going_on.ending, len(going_on.sends)) == (Ending.RUNNING, 2)
    given_up = one(history(past(1, sends, ending=Ending.RETRIES)), rules())
    assert (given_up.ending, len(given_up.sends), given_up.unsure) == (Ending.RETRIES, 6, 4)


def test_a_permanent_error_ends_the_first_round_and_a_list_that_calls_it_transient_does_not() -> None:
    stored = history(past(1, [sent(NOW, REFUSED)], ending=Ending.PERMANENT))
    assert one(stored, rules()).ending is Ending.PERMANENT
    text = default_text() + '[payers.p]\nalso_transient = ["TISS:5014"]\n'
    again = one(stored, rules(parse_policy(text)))
    assert (again.ending, len(again.sends)) == (Ending.RETRIES, 6)
    assert again.unsure == 5  # nobody knows whether it would have been refused again


def test_a_deadline_ends_what_would_come_too_late() -> None:
    stored = history(past(1, [sent(NOW, SLOW)], ending=Ending.RUNNING, deadline=later(hours=4)))
    assert one(stored, rules()).ending is Ending.DEADLINE


def test_a_refused_login_stops_the_payer_until_people_let_it_go_again() -> None:
    claims = (
        past(1, [sent(NOW, AccessDenied("no"))], ending=Ending.STANDS),
        past(2, [sent(later(minutes=61), TAKEN)], came_at=later(minutes=1)),
    )
    stopped = play(StoredHistory(claims, later(days=1)), rules())
    assert [claim.ending for claim in stopped] == [Ending.STANDS, Ending.RUNNING]
    hold = PayerHold("p", later(seconds=1), later(hours=1))
    released = play(StoredHistory(claims, later(days=1), (hold,)), rules())
    assert released[1].ending is Ending.AT_ONCE
    assert released[1].sends[0] >= later(hours=1)


def test_a_claim_that_a_person_ended_is_sent_no_more() -> None:
    stored = history(past(1, [sent(NOW, SLOW)], ending=Ending.BY_PERSON, ended_by_person_at=later(minutes=2)))
    played = one(stored, rules())
    assert (played.ending, len(played.sends)) == (Ending.BY_PERSON, 1)


def test_the_breaker_spares_attempts_that_an_outage_would_cost() -> None:
    claims = [past(n, [sent(later(seconds=n), DOWN)], ending=Ending.RUNNING) for n in range(30)]
    back = past(99, [sent(later(hours=2), TAKEN)])
    never = replace(UNPACED, threshold=1_000, unclear_threshold=1_000)
    soon = replace(UNPACED, threshold=3, unclear_threshold=10)
    open_all_the_time = figures(play(history(*claims, back), rules(limits=never)))
    held = figures(play(history(*claims, back), rules(limits=soon)))
    assert held.sends < open_all_the_time.sends
    assert held.taken == open_all_the_time.taken == 31
    assert (held.recovered, open_all_the_time.recovered) == (3, 30)  # the others never failed


def test_the_pace_bounds_the_load_on_the_payer() -> None:
    stored = history(*(past(n, [sent(NOW, TAKEN)]) for n in range(200)))
    at_once = peak_load(play(stored, rules()))
    paced = peak_load(play(stored, rules(limits=PayerLimits(per_minute=20, at_once=50, needs_proof=False))))
    assert at_once is not None
    assert paced is not None
    assert (at_once.sends, at_once.at) == (200, NOW)
    assert paced.sends <= 20 + 2  # late claims may run ahead of the pace by its grace


def test_played_by_the_rules_that_decided_it_ends_as_it_did() -> None:
    played = play(OUTAGE, rules())
    as_it_was = replace(
        OUTAGE,
        claims=tuple(replace(claim, real=again) for claim, again in zip(OUTAGE.claims, played, strict=True)),
    )
    found = agreement(as_it_was, played)
    assert (found.failed, found.same_ending, found.same_sends) == (1, 1, 1)


def test_only_claims_that_really_failed_are_compared() -> None:
    stored = history(past(1, [sent(NOW, TAKEN)]), past(2, [sent(NOW, SLOW)], ending=Ending.RETRIES))
    found = agreement(stored, play(stored, rules()))
    assert (found.failed, found.same_ending) == (1, 1)


def test_kpis_of_a_play_are_counted_as_the_rules_count_them() -> None:
    lost = AnswerLost("TIMEOUT - no answer in time", "NET:TRUNCATED")
    stored = history(
        past(1, [sent(NOW, TAKEN)]),
        past(2, [sent(NOW, lost), sent(later(minutes=6), TAKEN)]),
        past(3, [sent(NOW, REFUSED)], ending=Ending.PERMANENT),
    )
    found = figures(play(stored, rules()))
    tally = found.counted.tally
    assert (tally.decided, tally.recovered, tally.permanent, tally.retries_sent) == (2, 1, 1, 1)
    assert found.sends_per_claim is not None
    assert float(found.sends_per_claim) == 4 / 3
    assert found.counted.middle_us is not None
    low, high = (timedelta(microseconds=us) for us in found.counted.middle_us)
    assert low == high
    assert timedelta(minutes=5) <= low <= timedelta(minutes=7)


def test_a_rule_that_is_left_by_name_is_played_like_any_other() -> None:
    leaving = replace(with_limits(max_retries=9), leaves=frozenset({LimitRule.BIL_004_V1}))
    played = one(history(past(1, [sent(NOW, DOWN)], ending=Ending.RUNNING)), rules(leaving))
    assert len(played.sends) == 10
