"""Whatever the history and the rules: a play is a function, ends, and breaks no rule."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.payer_status import PayerLimits
from domain.submission import Accepted, AccessDenied, AnswerLost, ArrivalUnknown, ProtocolMissing
from domain.what_if.figures import figures
from domain.what_if.history import Ending, PastClaim, StoredHistory
from domain.what_if.play import Rules, play
from tests.support.builders import NOW, POLICY, later
from tests.support.past import DOWN, REFUSED, SLOW, TAKEN, past, sent

RESULTS = st.sampled_from(
    [
        TAKEN, DOWN, SLOW, REFUSED, AccessDenied("no"), ProtocolMissing(), ArrivalUnknown("DUPLICATE"), None,
        AnswerLost("TIMEOUT - lost", "NET:READ_TIMEOUT", payer_down=True),
    ]
)  # fmt: skip
MINUTES = st.integers(0, 60 * 24 * 3)


@st.composite
def claims(draw: st.DrawFn) -> tuple[PastClaim, ...]:
    found = []
    for number in range(draw(st.integers(1, 12))):
        moments = sorted(draw(st.lists(MINUTES, min_size=1, max_size=5)))
        sends = [sent(later(minutes=minute), draw(RESULTS)) for minute in moments]
        due = draw(st.none() | MINUTES)
        claim = past(number, sends, ending=Ending.RUNNING, payer=draw(st.sampled_from(["p", "q"])))
        found.append(replace(claim, deadline=None if due is None else later(minutes=due)))
    return tuple(found)


@st.composite
def tried(draw: st.DrawFn) -> Rules:
    retries, factor = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    policy = replace(POLICY, limits=replace(POLICY.limits, max_retries=retries, factor=factor))
    limits = PayerLimits(
        per_minute=draw(st.none() | st.integers(1, 60)),
        at_once=draw(st.integers(1, 8)),
        threshold=draw(st.integers(1, 8)),
        first_wait=timedelta(minutes=draw(st.integers(1, 30))),
        needs_proof=draw(st.booleans()),
    )
    return Rules(policy, lambda _payer: limits)


UNTIL = later(days=7)


@settings(max_examples=60, deadline=None)
@given(claims(), tried())
def test_a_play_is_a_function_of_history_and_rules(found: tuple[PastClaim, ...], by: Rules) -> None:
    stored = StoredHistory(found, UNTIL)
    assert play(stored, by) == play(stored, by)


@settings(max_examples=60, deadline=None)
@given(claims(), tried())
def test_no_claim_is_sent_more_often_than_its_retries_nor_sooner_than_the_shortest_wait(
    found: tuple[PastClaim, ...], by: Rules
) -> None:
    limits = by.policy.limits
    for claim, played in zip(found, play(StoredHistory(found, UNTIL), by), strict=True):
        assert played.claim_id == claim.claim_id
        assert len(played.sends) <= limits.max_retries + 1
        assert all(NOW <= at <= UNTIL + timedelta(seconds=1) for at in played.sends)
        waits = [after - before for before, after in pairwise(played.sends)]
        is_free = claim.deadline is None
        assert all(wait >= timedelta(seconds=limits.floor_seconds) for wait in waits if is_free)


@settings(max_examples=60, deadline=None)
@given(claims(), tried())
def test_every_claim_ends_once_and_all_are_counted(found: tuple[PastClaim, ...], by: Rules) -> None:
    played = play(StoredHistory(found, UNTIL), by)
    counted = figures(played)
    assert counted.claims == len(found) == sum(counted.endings.values())
    for claim in played:
        assert (claim.ended_at is None) == (claim.ending is Ending.RUNNING)
        assert claim.ending is not Ending.AT_ONCE or len(claim.sends) == 1
        assert claim.ending is not Ending.RECOVERED or len(claim.sends) > 1
    tally = counted.counted.tally
    assert tally.recovered + tally.spent + tally.ended_by_deadline <= tally.retried


@settings(max_examples=40, deadline=None)
@given(claims(), tried())
def test_payers_do_not_touch_each_other(found: tuple[PastClaim, ...], by: Rules) -> None:
    both = {one.claim_id: one for one in play(StoredHistory(found, UNTIL), by)}
    for payer in ("p", "q"):
        mine = tuple(claim for claim in found if claim.payer_id == payer)
        assert all(both[one.claim_id] == one for one in play(StoredHistory(mine, UNTIL), by))


@settings(max_examples=40, deadline=None)
@given(claims())
def test_what_was_only_ever_taken_is_taken_at_once_by_any_rules(found: tuple[PastClaim, ...]) -> None:
    taken = tuple(
        replace(claim, sends=(sent(claim.came_at, Accepted("P")),), deadline=None) for claim in found
    )
    free = PayerLimits(per_minute=None, at_once=100, needs_proof=False)
    played = play(StoredHistory(taken, UNTIL), Rules(POLICY, lambda _payer: free))
    assert {claim.ending for claim in played} == {Ending.AT_ONCE}
