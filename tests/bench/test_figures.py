"""The arithmetic of the benchmark: medians, percentiles, aims, metrics and turns."""

import pytest

from tests.bench.aims import AIMS, Aim, Verdict, judge
from tests.bench.contender import Contender
from tests.bench.cores import OTHER_CORES, WORKER_CORES
from tests.bench.fair_figures import Backlog, Run, figures, longest_run, missed
from tests.bench.figures import Sample, Summary, figure, percentile, summarise
from tests.bench.java_client import NoJavaError, find_jdk
from tests.bench.measure import turns
from tests.bench.names import IN_WORDS, TELEMETRY, USUAL, Name
from tests.bench.options import FULL, QUICK, read_options
from tests.support.broker import jobs_in


def summary(name: Name, *, speed: float = 100, cpu: float = 1, rounds: int = 3) -> Summary:
    samples = [Sample(name, number, speed, cpu, 1, 10, 10) for number in range(rounds)]
    found = summarise(name, samples)
    assert found is not None
    return found


def aim(words: str) -> Aim:
    return next(one for one in AIMS if words in one.text)


def test_a_figure_is_the_median_with_the_lowest_and_the_highest() -> None:
    assert str(figure([3.0, 100.4, 12.345])) == "12.3 (3-100)"


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert percentile(values, 0.50) == 50
    assert percentile(values, 0.99) == 99
    assert percentile([7.0], 0.99) == 7


def test_rounds_of_one_contender_are_not_mixed_with_another_s() -> None:
    samples = [
        Sample(Name.OURS, 0, 500, 1, 1, 1, 1),
        Sample(Name.JAVA_POLLING, 0, 1, 1, 1, 1, 1, unanswered=3),
    ]
    ours = summarise(Name.OURS, samples)
    assert ours is not None
    assert (ours.jobs_per_second.middle, ours.rounds, ours.unanswered) == (500, 1, 0)
    assert summarise(Name.PYZEEBE_TUNED, samples) is None


def test_speed_is_held_against_the_better_java_figure() -> None:
    summaries = {
        Name.OURS: summary(Name.OURS, speed=440),
        Name.JAVA_POLLING: summary(Name.JAVA_POLLING, speed=300),
        Name.JAVA_STREAMING: summary(Name.JAVA_STREAMING, speed=401),
    }
    judged = judge(aim("better Java"), summaries)
    assert judged.ratio == pytest.approx(440 / 401)
    assert judged.verdict is Verdict.NOT_MET


def test_an_aim_whose_rival_is_missing_is_neither_met_nor_missed() -> None:
    both = {Name.OURS: summary(Name.OURS), Name.JAVA_POLLING: summary(Name.JAVA_POLLING, speed=1)}
    assert judge(aim("better Java"), both).verdict is Verdict.UNKNOWN


def test_one_round_tells_nothing() -> None:
    both = {Name.OURS: summary(Name.OURS, rounds=1), Name.JAVA_STREAMING: summary(Name.JAVA_STREAMING)}
    assert judge(aim("p50"), both).verdict is Verdict.TOO_FEW


def test_less_cpu_is_better_and_the_thriftier_rival_counts() -> None:
    rivals = {
        Name.PYZEEBE_TUNED: summary(Name.PYZEEBE_TUNED, cpu=1.0),
        Name.PYZEEBE_GENTLE: summary(Name.PYZEEBE_GENTLE, cpu=1.5),
    }
    frugal, greedy = summary(Name.OURS, cpu=0.7), summary(Name.OURS, cpu=0.71)
    assert judge(aim("CPU"), rivals | {Name.OURS: frugal}).verdict is Verdict.MET
    assert judge(aim("CPU"), rivals | {Name.OURS: greedy}).verdict is Verdict.NOT_MET


def test_the_durable_decision_is_held_against_our_own_no_op() -> None:
    summaries = {
        Name.OURS: summary(Name.OURS, speed=400),
        Name.DECISION_POSTGRESQL: summary(Name.DECISION_POSTGRESQL, speed=360),
    }
    judged = judge(aim("decision on PostgreSQL"), summaries)
    assert (judged.ratio, judged.verdict) == (0.9, Verdict.MET)


def test_only_what_happened_to_jobs_of_the_asked_type_is_counted() -> None:
    metrics = "\n".join(
        (
            'zeebe_job_events_total{action="completed",partition="1",type="a",job_kind="BPMN_ELEMENT",} 20.0',
            'zeebe_job_events_total{action="completed",partition="2",type="a",job_kind="BPMN_ELEMENT",} 3.0',
            'zeebe_job_events_total{action="created",partition="1",type="a",job_kind="BPMN_ELEMENT",} 99.0',
            'zeebe_job_events_total{action="completed",partition="1",type="ab",job_kind="BPMN_ELEMENT",} 5.0',
        )
    )
    assert jobs_in(metrics, "a", "completed") == 23
    assert jobs_in(metrics, "none", "completed") == 0
    assert jobs_in(metrics, "a", "created") == 99


def test_every_contender_begins_a_round_in_turn() -> None:
    contenders = [Contender(name, ()) for name in (Name.OURS, Name.JAVA_POLLING, Name.PYZEEBE_TUNED)]
    order = [contender.name for _, contender in turns(contenders, 3)]
    assert order[::3] == [Name.OURS, Name.JAVA_POLLING, Name.PYZEEBE_TUNED]
    assert sorted(order[3:6]) == sorted(order[:3])


def test_without_a_compiler_the_reason_is_one_line() -> None:
    with pytest.raises(NoJavaError, match="no JDK here"):
        find_jdk(None, None)


def test_options_choose_contenders_and_sizes() -> None:
    options = read_options(["--only", "reenvio", "java-polling", "--jobs", "50", "--quick"])
    assert options.only == (Name.OURS, Name.JAVA_POLLING)
    assert (options.sizes.jobs, options.sizes.warm_up, options.rounds) == (50, QUICK.warm_up, 1)
    assert read_options([]).sizes == FULL
    assert read_options([]).only == USUAL
    assert read_options(["--telemetry"]).only == TELEMETRY


def test_with_cores_of_their_own_no_worker_shares_one_with_what_it_is_measured_against() -> None:
    assert read_options(["--pin"]).pin
    assert not read_options([]).pin
    assert not set(WORKER_CORES) & set(OTHER_CORES)


def test_every_contender_has_a_name_in_words() -> None:
    assert set(IN_WORDS) == set(Name)


@pytest.mark.parametrize(
    ("order", "longest"), [("bbbsbbbsb", 3), ("bbbbssbbb", 4), ("ssbbbbbbb", 2), ("bsbsbbbbb", 1)]
)
def test_mails_in_a_row_count_while_another_company_waits(order: str, longest: int) -> None:
    names = {"b": "big", "s": "small-0"}
    assert longest_run([names[sign] for sign in order], Backlog(7, 1, 2)) == longest


def test_the_aims_of_fairness_are_missed_by_who_comes_too_late_or_gets_too_many_in_a_row() -> None:
    backlog = Backlog(98, 1, 2)
    early = [*["big"] * 3, "small-0", "small-0", *["big"] * 95]
    late = [*["big"] * 98, "small-0", "small-0"]
    found = [
        figures(
            "by turns", Run(order, [(name, float(at)) for at, name in enumerate(order, 1)], 0.0, 1.0), backlog
        )
        for order in (early, late)
    ]
    assert [(one.share, one.place, one.longest_run) for one in found] == [(0.05, 0.05, 3), (1.0, 1.0, 98)]
    assert missed(found) == [
        "by turns: the small companies' last mail left at 100.0%",
        "by turns: 98 in a row",
    ]
