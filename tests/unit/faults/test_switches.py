"""Faults are drawn by their rules, from the seed, and counted."""

import random

import grpc

from tests.support.faults import REPORTS, BreakStream, Delay, Method, Refuse, Rule
from tests.support.faults.runs import Runs
from tests.support.faults.switches import Faults

REFUSED = Refuse(grpc.StatusCode.INTERNAL)


def test_all_is_quiet_until_something_is_switched_on() -> None:
    faults = Faults(random.Random(0))
    assert faults.on_call(Method.COMPLETE) == ()
    assert faults.injected.total() == 0


def test_a_rule_strikes_only_its_methods() -> None:
    faults = Faults(random.Random(0))
    faults.switch(Rule(REFUSED, REPORTS))
    assert faults.on_call(Method.COMPLETE) == (REFUSED,)
    assert faults.on_call(Method.ACTIVATE) == ()


def test_faults_of_calls_and_of_deliveries_are_drawn_apart() -> None:
    faults = Faults(random.Random(0))
    faults.switch(Rule(Delay(1)), Rule(BreakStream()))
    assert faults.on_call(Method.STREAM) == (Delay(1),)
    assert faults.on_delivery(Method.STREAM) == (BreakStream(),)
    assert faults.injected == {"Delay": 1, "BreakStream UNAVAILABLE": 1}


def test_the_same_seed_gives_the_same_faults() -> None:
    first, second = (Faults(random.Random(7)) for _ in range(2))
    for faults in (first, second):
        faults.switch(Rule(REFUSED, probability=0.3))
    drawn = [first.on_call(Method.FAIL) for _ in range(100)]
    assert drawn == [second.on_call(Method.FAIL) for _ in range(100)]
    assert 10 < first.injected["Refuse INTERNAL"] < 50


def test_a_run_may_repeat_itself_until_it_is_answered() -> None:
    runs = Runs()
    runs.arrived("CompleteJob", '{"run": "run-1"}')
    runs.answered(runs.arrived("CompleteJob", '{"run": "run-1"}'))
    assert (runs.contradictions, runs.repetitions) == ([], [])
    runs.arrived("CompleteJob", '{"run": "run-1"}')
    assert len(runs.repetitions) == 1


def test_a_run_that_says_two_things_contradicts_itself() -> None:
    runs = Runs()
    runs.arrived("FailJob", "run-1")
    runs.arrived("CompleteJob", "run-1")
    runs.arrived("CompleteJob", "no mark, no watch")
    assert runs.contradictions == ["run-1: FailJob, then CompleteJob"]
