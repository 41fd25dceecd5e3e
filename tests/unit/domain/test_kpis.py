"""KPIs as the rules define them (RN-BIL-004 6.1, RN-BIL-005 6.1): targets, periods, first rounds, words."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest

from domain.kpis.definitions import BIL_004, BIL_005, KPIS, KpiName, Measure, Target
from domain.kpis.periods import (
    Frequency,
    Period,
    cut_at,
    day_of,
    latest_complete,
    parts_of,
    run_up_to,
    week_of,
)
from domain.kpis.rounds import NOT_KNOWN, NumberedSend, Recovery, recovery
from domain.kpis.tally import Counted, KpiTally
from domain.kpis.wording import Trend, bars, target_told, told, trend

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
AT = datetime(2026, 3, 10, 12, tzinfo=UTC)


def later(minutes: float) -> datetime:
    return AT + timedelta(minutes=minutes)


def targets(name: KpiName) -> dict[str, Target]:
    [kpi] = [one for one in KPIS if one.name is name]
    return {target.rule: target for target in kpi.targets}


@pytest.mark.parametrize(
    ("name", "rule", "shown", "frequency"),
    [
        (KpiName.SUCCESS_AFTER_RETRY, BIL_004, ">= 85 %", Frequency.DAILY),
        (KpiName.SUCCESS_AFTER_RETRY, BIL_005, ">= 80 %", Frequency.DAILY),
        (KpiName.MEAN_ATTEMPTS, BIL_004, "<= 1.2", Frequency.DAILY),
        (KpiName.LOST_CLAIMS, BIL_004, "<= 3 %", Frequency.WEEKLY),
        (KpiName.TIME_TO_SUCCESS, BIL_004, "<= 60 min", Frequency.DAILY),
        (KpiName.MEAN_TIME_TO_SUCCESS, BIL_005, "<= 2 h", Frequency.DAILY),
        (KpiName.PERMANENT_ERRORS, BIL_005, "< 10 %", Frequency.WEEKLY),
        (KpiName.EXHAUSTED, BIL_005, "< 5 %", Frequency.WEEKLY),
    ],
)
def test_each_kpi_has_its_rules_target_and_frequency(
    name: KpiName, rule: str, shown: str, frequency: Frequency
) -> None:
    [kpi] = [one for one in KPIS if one.name is name]
    assert target_told(targets(name)[rule], kpi.unit) == shown
    assert kpi.frequency is frequency


def test_there_are_eight_targets_and_no_more() -> None:
    assert sum(len(kpi.targets) for kpi in KPIS) == 8


def test_a_value_at_its_target_meets_it_unless_it_must_lie_below() -> None:
    assert targets(KpiName.SUCCESS_AFTER_RETRY)[BIL_004].is_met(Measure(85, 100, 100, 0)) is True
    assert targets(KpiName.SUCCESS_AFTER_RETRY)[BIL_004].is_met(Measure(8499, 10_000, 1, 0)) is False
    assert targets(KpiName.LOST_CLAIMS)[BIL_004].is_met(Measure(3, 100, 100, 0)) is True
    assert targets(KpiName.PERMANENT_ERRORS)[BIL_005].is_met(Measure(10, 100, 100, 0)) is False
    assert targets(KpiName.PERMANENT_ERRORS)[BIL_005].is_met(Measure(0, 0, 0, 0)) is None


def test_open_claims_are_left_out_of_every_rate_and_stand_beside_it() -> None:
    counted = Counted(
        KpiTally(decided=20, permanent=2, exhausted=1, retried=16, recovered=9, spent=1, running=5,
                 running_retried=4)
    )  # fmt: skip
    measures = {kpi.name: kpi.measure(counted) for kpi in KPIS}
    assert measures[KpiName.SUCCESS_AFTER_RETRY].value == Fraction(9, 12)
    assert measures[KpiName.LOST_CLAIMS].value == Fraction(1, 12)
    assert measures[KpiName.PERMANENT_ERRORS].value == Fraction(2, 15)
    assert measures[KpiName.EXHAUSTED].value == Fraction(1, 15)
    assert measures[KpiName.SUCCESS_AFTER_RETRY].running == 4
    assert measures[KpiName.EXHAUSTED].running == 5


def test_what_a_deadline_ended_stands_apart_from_spent_retries() -> None:
    tally = KpiTally(decided=10, retried=10, exhausted=1, spent=1, by_deadline=3, ended_by_deadline=2)
    lost = {kpi.name: kpi.measure(Counted(tally)) for kpi in KPIS}[KpiName.LOST_CLAIMS]
    assert (lost.numerator, lost.by_deadline) == (1, 2)


def test_the_median_of_an_even_number_is_the_mean_of_the_two_in_the_middle() -> None:
    counted = Counted(KpiTally(recovered=2), (60_000_000, 60_000_001))
    [kpi] = [one for one in KPIS if one.name is KpiName.TIME_TO_SUCCESS]
    assert kpi.measure(counted).value == Fraction(120_000_001, 2_000_000)


def test_a_day_begins_at_midnight_of_the_zone_also_when_clocks_skip_it() -> None:
    assert day_of(date(2026, 3, 10), SAO_PAULO).start == datetime(2026, 3, 10, 3, tzinfo=UTC)
    skipped = day_of(date(2018, 11, 4), SAO_PAULO)  # at midnight it became one o'clock
    assert skipped.start == datetime(2018, 11, 4, 3, tzinfo=UTC)
    assert skipped.end - skipped.start == timedelta(hours=23)


def test_a_week_is_monday_to_sunday_and_the_last_one_that_is_over() -> None:
    assert week_of(date(2026, 3, 11), SAO_PAULO).name == "2026-03-09..2026-03-15"
    sunday_night = datetime(2026, 3, 16, 2, 59, tzinfo=UTC)
    assert latest_complete(Frequency.WEEKLY, sunday_night, SAO_PAULO).first == date(2026, 3, 2)
    monday = sunday_night + timedelta(minutes=1)
    assert latest_complete(Frequency.WEEKLY, monday, SAO_PAULO).first == date(2026, 3, 9)


def test_periods_follow_each_other_without_gap() -> None:
    weeks = run_up_to(week_of(date(2026, 3, 11), SAO_PAULO), 4)
    assert [one.end for one in weeks[:-1]] == [one.start for one in weeks[1:]]
    month = Period(date(2026, 3, 1), date(2026, 3, 31), SAO_PAULO)
    assert parts_of(month, Frequency.WEEKLY, 8)[0].name == "2026-03-02..2026-03-08"
    assert month.before.name == "2026-01-29..2026-02-28"


def test_a_run_of_days_is_cut_at_its_weeks_without_gap() -> None:
    month = Period(date(2026, 3, 1), date(2026, 3, 31), SAO_PAULO)
    pieces = cut_at(month, parts_of(month, Frequency.WEEKLY, 3))
    assert [one.days for one in pieces] == [8, 7, 7, 7, 2]
    assert [one.end for one in pieces[:-1]] == [one.start for one in pieces[1:]]


SENDS = (NumberedSend(1, later(-1)), NumberedSend(2, later(10)), NumberedSend(3, later(30)))


def test_a_recovery_counts_the_retries_and_both_times() -> None:
    found = recovery(AT, None, SENDS, later(31))
    assert found is not None
    assert found.retries_sent == 2
    assert found.since_failure_us == 31 * 60 * 1_000_000
    assert found.since_send_us == 32 * 60 * 1_000_000


def test_what_is_taken_after_it_was_given_up_is_no_recovery_of_the_first_round() -> None:
    assert recovery(AT, later(20), SENDS, later(31)) is None


def test_a_send_that_left_before_it_was_given_up_still_counts() -> None:
    assert recovery(AT, later(30.5), SENDS, later(31)) is not None


def test_a_late_answer_to_the_first_send_is_no_success_after_retry() -> None:
    assert recovery(AT, None, SENDS[:1], later(5)) is None


HOURS_AHEAD = 180
SET_BACK = {
    "during the first send": (AT, (1, 10, 30), 31),
    "after the first failure": (later(HOURS_AHEAD), (-1 + HOURS_AHEAD, 10, 30), 31),
    "and by the end caught up": (later(HOURS_AHEAD), (-1 + HOURS_AHEAD, 10, 200), 201),
    "after a retry": (AT, (-1, 10 + HOURS_AHEAD, 30), 31),
    "during the last send": (AT, (-1, 10, 30 + HOURS_AHEAD), 31),
}


@pytest.mark.parametrize(("failed_at", "minutes", "at"), SET_BACK.values(), ids=SET_BACK)
def test_a_clock_that_was_set_back_takes_a_recovery_its_times_and_not_its_retries(
    failed_at: datetime, minutes: tuple[int, ...], at: int
) -> None:
    sends = tuple(NumberedSend(number, later(one)) for number, one in enumerate(minutes, start=1))
    found = recovery(failed_at, None, sends, later(at))
    assert found == Recovery(later(at), 2, NOT_KNOWN, NOT_KNOWN)
    assert recovery(failed_at, later(20), sends, later(at)) is None  # before or after: nobody knows


def test_recovered_claims_without_known_times_are_in_no_time() -> None:
    counted = Counted(KpiTally(retried=3, recovered=3, untimed=1, retries_sent=6, since_send_us=60_000_000))
    measures = {kpi.name: kpi.measure(counted) for kpi in KPIS}
    assert measures[KpiName.MEAN_ATTEMPTS].value == 2
    assert measures[KpiName.SUCCESS_AFTER_RETRY].value == 1
    assert measures[KpiName.MEAN_TIME_TO_SUCCESS].value == 30
    assert measures[KpiName.TIME_TO_SUCCESS].value is None
    assert [measures[name].claims for name in (KpiName.MEAN_ATTEMPTS, KpiName.TIME_TO_SUCCESS)] == [3, 2]


@pytest.mark.parametrize(
    ("value", "name", "shown"),
    [
        (Fraction(5, 6), KpiName.SUCCESS_AFTER_RETRY, "83.33 %"),
        (Fraction(1, 8) + Fraction(1, 2_000_0), KpiName.LOST_CLAIMS, "12.51 %"),
        (Fraction(7, 6), KpiName.MEAN_ATTEMPTS, "1.17"),
        (Fraction(59), KpiName.TIME_TO_SUCCESS, "59 s"),
        (Fraction(3_661), KpiName.TIME_TO_SUCCESS, "61 min 1 s"),
        (Fraction(9_000), KpiName.MEAN_TIME_TO_SUCCESS, "2 h 30 min"),
        (None, KpiName.MEAN_TIME_TO_SUCCESS, "-"),
    ],
)
def test_values_are_told_with_their_unit(value: Fraction | None, name: KpiName, shown: str) -> None:
    [kpi] = [one for one in KPIS if one.name is name]
    assert told(value, kpi.unit) == shown


def test_trend_and_bars_show_where_it_goes() -> None:
    half = Fraction(1, 2)
    assert [trend(half, other) for other in (None, half, Fraction(1), Fraction(0))] == [
        Trend.NEW, Trend.SAME, Trend.DOWN, Trend.UP
    ]  # fmt: skip
    assert trend(None, half) is None
    assert bars([Fraction(0), None, half, Fraction(1)]) == "▁·▅█"
