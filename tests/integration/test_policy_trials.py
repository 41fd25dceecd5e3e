"""Records of claims read as a history, and policies tried on them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from domain.claim_state import ClaimState
from domain.kpis.rounds import GivenUp
from domain.payer_status import PayerState
from domain.submission import AccessDenied, AnswerLost, Failed
from domain.what_if.history import Ending, PayerHold
from persistence.repositories.past_claims import DecisionOnRecord, SendOnRecord, SentClaim
from persistence.repositories.payer_traffic import PayerMove
from persistence.store import Store
from tests.support.builders import NOW, POLICY, later
from tests.support.console_scene import COAST, NORTH, ConsoleScene
from tests.support.intake_stage import HandClock
from workers.payers.limits import LimitsByPayer
from workers.upkeep.past_play import holds, past_claim, stored_history
from workers.upkeep.policy_trials import PolicyTrials, Proposal, TriedLimits

SECOND = timedelta(seconds=1)


def trials(store: Store) -> PolicyTrials:
    return PolicyTrials(store, HandClock(NOW), LimitsByPayer())


async def test_the_newest_claims_are_read_with_their_first_rounds(store: Store) -> None:
    scene = ConsoleScene(store, NOW)
    await scene.accepted(NORTH, hours=6)
    await scene.exhausted(COAST, hours=3)
    await scene.received(NORTH, hours=2)  # never sent
    async with store.reading() as tx:
        stored = await stored_history(tx, 10, NOW)
        newest = await stored_history(tx, 2, NOW)
    assert [claim.real.ending for claim in stored.claims] == [Ending.RETRIES, Ending.AT_ONCE]
    assert [len(claim.sends) for claim in stored.claims] == [6, 1]
    assert len(newest.claims) == 1  # of two, one was never sent
    lost = stored.claims[0]
    assert lost.real.is_retried
    assert all(isinstance(send.result, Failed) and "TIMEOUT" in send.result.error for send in lost.sends)


async def test_a_trial_compares_what_happened_with_both_policies(store: Store) -> None:
    await ConsoleScene(store, NOW).everything()
    fewer = replace(POLICY, version="2", limits=replace(POLICY.limits, max_retries=1))
    seen: list[tuple[int, int]] = []
    trial = await trials(store).run(Proposal(POLICY, fewer), progress=lambda n, of: seen.append((n, of)))
    many = len(trial.history.claims)
    assert trial.real.claims == trial.now.claims == trial.then.claims == many
    assert not trial.is_cut
    assert seen[-1] == (2 * many, 2 * many)
    assert trial.then.sends < trial.now.sends
    assert trial.then.endings[Ending.RETRIES] > trial.now.endings[Ending.RETRIES]
    assert trial.agreement.failed == trial.real.failed
    assert trial.real.endings[Ending.PERMANENT] == trial.now.endings[Ending.PERMANENT] == 7


async def test_a_pace_is_tried_without_a_policy(store: Store) -> None:
    scene = ConsoleScene(store, NOW)
    for _ in range(10):
        await scene.accepted(NORTH, hours=2)
    slow = Proposal(POLICY, POLICY, TriedLimits(per_minute=2))
    trial = await trials(store).run(slow, most=10)
    assert trial.is_cut
    assert (trial.now.peak and trial.now.peak.sends, trial.then.peak and trial.then.peak.sends) == (10, 2)


def record(*sends: SendOnRecord, **more: object) -> SentClaim:
    known = SentClaim("CLM-R-1", "p", ClaimState.FAILED, NOW, later(hours=9), None, sends)
    return replace(known, **more)  # type: ignore[arg-type]


def answered(outcome: str | None, **facts: object) -> SendOnRecord:
    return SendOnRecord(later(seconds=1), later(seconds=3), outcome, facts or None, None)


@pytest.mark.parametrize(
    ("code", "is_down"), [("HTTP:503", True), ("NET:REFUSED", True), ("HTTP:500", False), (None, False)]
)
def test_the_code_of_a_failure_tells_whether_the_payer_was_away(code: str | None, is_down: bool) -> None:
    [send] = past_claim(record(answered("FAILED", error="x", code=code))).sends
    assert isinstance(send.result, Failed)
    assert (send.result.payer_down, send.lasted) == (is_down, 2 * SECOND)


def test_what_nobody_knows_any_more_is_not_made_up() -> None:
    [gone] = past_claim(record(answered("FAILED"))).sends
    [open_] = past_claim(record(answered(None))).sends
    assert (gone.result, open_.result) == (None, None)


def test_facts_that_are_gone_are_told_by_the_decision_that_followed() -> None:
    decided = (DecisionOnRecord(later(seconds=4), "TIMEOUT - late", None),)
    [send] = past_claim(record(answered("ANSWER_LOST"), decided=decided)).sends
    assert send.result == AnswerLost("TIMEOUT - late")


def test_later_rounds_are_left_out() -> None:
    end = DecisionOnRecord(later(seconds=4), "REFUSED", GivenUp.PERMANENT)
    after = SendOnRecord(later(hours=2), later(hours=3), "ACCEPTED", {}, None)
    claim = past_claim(record(answered("FAILED", error="REFUSED", code="TISS:1001"), after, decided=(end,)))
    assert (len(claim.sends), claim.real.ending, claim.real.ended_at) == (1, Ending.PERMANENT, end.at)


@pytest.mark.parametrize(
    ("sends", "state", "ending"),
    [
        ([answered("ACCEPTED")], ClaimState.ACCEPTED, Ending.AT_ONCE),
        ([answered("PROTOCOL_MISSING")], ClaimState.IN_REVIEW, Ending.AT_ONCE),
        ([answered("FAILED", error="x", code=None)], ClaimState.CANCELLED, Ending.BY_PERSON),
        ([answered("ACCESS_DENIED")], ClaimState.FAILED, Ending.STANDS),
        ([answered("FAILED", error="x", code=None)], ClaimState.WAITING, Ending.RUNNING),
        ([replace(answered("ACCEPTED"), undone_at=NOW)], ClaimState.WAITING, Ending.RUNNING),
    ],
)
def test_what_really_became_of_a_claim(sends: list[SendOnRecord], state: ClaimState, ending: Ending) -> None:
    claim = past_claim(record(*sends, state=state))
    assert claim.real.ending is ending
    assert (claim.ended_by_person_at is not None) is (ending is Ending.BY_PERSON)
    assert isinstance(claim.sends[0].result, AccessDenied) is (ending is Ending.STANDS)


def test_holds_are_read_from_the_states_that_payers_went_through() -> None:
    closed, paused, stopped = PayerState.CLOSED, PayerState.PAUSED, PayerState.STOPPED
    moves = [
        PayerMove("p", NOW, closed, PayerState.OPEN),
        PayerMove("p", later(hours=1), PayerState.OPEN, paused),
        PayerMove("q", later(hours=2), closed, stopped),
        PayerMove("p", later(hours=3), paused, closed),
    ]
    assert list(holds(moves)) == [
        PayerHold("p", later(hours=1), later(hours=3)),
        PayerHold("q", later(hours=2)),
    ]
