"""A payer cannot make us slow: its answers are judged in one pass, in bounds, and off the event loop."""

from collections.abc import Callable

import pytest

from domain.submission import Accepted
from gateways.tiss.answers import GLOSAS_KEPT
from gateways.tiss.judgement import HttpAnswer, judge_submission
from tests.security.hostile_answers import HOSTILE, empty_reasons, receipt_with, refused_everywhere
from tests.support.effort import LINEAR, growth
from tests.support.tiss_samples import lote

BATCH = lote()


def judging(body: bytes) -> Callable[[], object]:
    return lambda: judge_submission(HttpAnswer(200, body), BATCH)


@pytest.mark.parametrize("attack", HOSTILE, ids=lambda attack: attack.__name__)
def test_four_times_the_answer_costs_no_more_than_a_few_times_the_work(
    attack: Callable[[int], bytes],
) -> None:
    assert growth(lambda size: judging(attack(size)), 4_000) < LINEAR


def test_of_very_many_glosas_the_first_are_kept_and_the_others_counted() -> None:
    outcome = judge_submission(HttpAnswer(200, receipt_with(empty_reasons(GLOSAS_KEPT + 234))), BATCH)
    assert isinstance(outcome, Accepted)
    assert len(outcome.glosas) == GLOSAS_KEPT
    assert outcome.more_glosas == 234


def test_a_glosa_at_the_end_of_very_many_still_has_its_guide_and_level() -> None:
    places = refused_everywhere(100)
    outcome = judge_submission(HttpAnswer(200, receipt_with(places)), BATCH)
    assert isinstance(outcome, Accepted)
    assert (outcome.glosas[-1].level, outcome.glosas[-1].guide) == ("procedure", "GP-0001")
