"""Worlds for the alerts of the two rules of decision."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tests.alerts.case import Case, once, rising, steady

SHIFT, STEP = 400, 10
"""Minutes, somewhat more than the six hours that shares are taken of, in steps of ten."""
DAY, HALF_HOUR = 1_500, 30
RULE_004, RULE_005 = {"rule": "RN-BIL-004"}, {"rule": "RN-BIL-005"}


def of_a_shift(
    alert: str,
    about: str,
    series: Mapping[str, str],
    fires: Mapping[str, str] | None = None,
) -> Case:
    """A case that is looked at after a whole shift."""
    return Case(alert, about, series, SHIFT, fires, step=STEP)


def decided(rule: str, outcome: str, values: str) -> dict[str, str]:
    """Decisions of one rule and outcome."""
    return {f'reenvio_decisions_total{{instance="a", rule="{rule}", outcome="{outcome}"}}': values}


def claims(failed: str, given_up: str, cause: str = "RETRIES") -> dict[str, str]:
    """Claims of RN-BIL-005 as they first fail and as they are given up; each makes six decisions."""
    return {
        'reenvio_claims_failed_total{instance="a", rule="RN-BIL-005"}': failed,
        f'max_retries_exceeded_total{{instance="a", cause="{cause}"}}': given_up,
        **decisions("RN-BIL-005", retry=500.0, exhausted=100.0),
    }


def decisions(rule: str, **per_step: float) -> dict[str, str]:
    """Decisions of one rule by their outcome."""
    return _together(decided(rule, outcome, rising(rate)) for outcome, rate in per_step.items())


def single(rule: str, retry: float, **outcomes: float) -> dict[str, str]:
    """So many decisions, all at one moment."""
    every = {"retry": retry, **outcomes}
    return _together(decided(rule, outcome, once(number, 20)) for outcome, number in every.items())


def _together(parts: Iterable[dict[str, str]]) -> dict[str, str]:
    return {name: values for part in parts for name, values in part.items()}


def waits(short: float, long: float, minutes: float, hour: str = "60") -> dict[str, str]:
    """Waits up to an hour and longer ones, and their sum, all per step; Prometheus 3 says 60.0."""
    name = "submission_retry_backoff_minutes"
    return {
        f'{name}_bucket{{instance="a", le="{hour}"}}': rising(short),
        f'{name}_count{{instance="a"}}': rising(short + long),
        f'{name}_sum{{instance="a"}}': rising(minutes),
    }


def analyses(quick: float, slow: float, rule: str = "RN-BIL-005", second: str = "1") -> dict[str, str]:
    """Analyses below and above a second, per step; Prometheus 3 says 1.0."""
    name, labels = "retry_analysis_duration_seconds", f'instance="a", rule="{rule}"'
    return {
        f'{name}_bucket{{{labels}, le="{second}"}}': rising(quick),
        f"{name}_count{{{labels}}}": rising(quick + slow),
    }


def sends(quick: float, slow: float) -> dict[str, str]:
    """Sends to one payer that take up to 30 s, or one to four minutes."""
    name, payer = "reenvio_send_duration_seconds", 'instance="a", payer="sul"'
    buckets = {"30.0": quick, "60.0": quick, "240.0": quick + slow, "+Inf": quick + slow}
    counted = {f'{name}_bucket{{{payer}, le="{le}"}}': rising(rate) for le, rate in buckets.items()}
    return counted | {f"{name}_count{{{payer}}}": rising(quick + slow)}


def jitter(deviation: float, retries: float) -> dict[str, str]:
    """The deviation of a day's jitter as two workers read it, and retries per step."""
    measured = 'reenvio_jitter_deviation_ratio{{instance="{}", rule="RN-BIL-004"}}'
    retried = decisions("RN-BIL-004", retry=retries)
    return {measured.format("a"): steady(deviation), measured.format("b"): steady(deviation), **retried}


def shares() -> Iterator[Case]:
    """Alerts on a share of the decisions."""
    for name, rule, outcome, percent in (
        ("ReenvioPermanentErrors004", "RN-BIL-004", "permanent", 10),
        ("ReenvioPermanentErrors005", "RN-BIL-005", "permanent", 15),
    ):
        above, below = {outcome: percent + 1.0}, {outcome: percent - 1.0}
        yield of_a_shift(name, f"{percent + 1} %", decisions(rule, retry=99.0 - percent, **above), {})
        yield of_a_shift(name, f"{percent - 1} %", decisions(rule, retry=101.0 - percent, **below))
        yield of_a_shift(name, "1 of 2", single(rule, 1, **{outcome: 1}))
        yield of_a_shift(name, "4 of 5", single(rule, 1, **{outcome: 4}))
        yield of_a_shift(name, "6 of 7", single(rule, 1, **{outcome: 6}), {})


def at_maximum(share: float) -> dict[str, str]:
    """A share of the waits that is at the policy's maximum."""
    counted = {'reenvio_backoff_at_maximum_total{instance="a", rule="RN-BIL-004"}': rising(100 * share)}
    return counted | decisions("RN-BIL-004", retry=100)


ONE_AT_MAXIMUM = {'reenvio_backoff_at_maximum_total{instance="a", rule="RN-BIL-004"}': once(1, 20)}
EVERY_SECOND_HELPS = waits(96.8, 3.2, 1_316)
WHOLE_OUTAGE = waits(4, 1, 155.5)


def young() -> Iterator[Case]:
    """What holds for ten minutes only then is worth a person's time."""
    for alert, series in (
        ("ReenvioPermanentErrors004", decisions("RN-BIL-004", retry=80, permanent=20)),
        ("ReenvioBackoffAtMaximum", at_maximum(0.06)),
        ("ReenvioLastRetries", waits(94, 6, 1_200)),
    ):
        yield Case(alert, "for 8 minutes", series, 8)
        yield Case(alert, "for 15 minutes", series, 15, {})


CLAIM_CASES = (
    *shares(),
    *young(),
    of_a_shift("ReenvioExhausted005", "6 of 100 claims", claims(rising(100), rising(6)), {}),
    of_a_shift("ReenvioExhausted005", "4 of 100 claims", claims(rising(100), rising(4))),
    of_a_shift("ReenvioExhausted005", "6 of 7 claims", claims(once(7, 20), once(6, 20)), {}),
    of_a_shift("ReenvioExhausted005", "4 of 5 claims", claims(once(5, 20), once(4, 20))),
    of_a_shift("ReenvioExhausted005", "half by their deadlines", claims(rising(2), rising(1), "DEADLINE")),
    of_a_shift("ReenvioBackoffAtMaximum", "6 % of the waits", at_maximum(0.06), {}),
    of_a_shift("ReenvioBackoffAtMaximum", "4 % of the waits", at_maximum(0.04)),
    of_a_shift("ReenvioBackoffAtMaximum", "1 of 2", ONE_AT_MAXIMUM | single("RN-BIL-004", 2)),
    of_a_shift("ReenvioLastRetries", "6 % of the waits are the fifth", waits(94, 6, 1_200), {}),
    of_a_shift("ReenvioLastRetries", "6 %, by Prometheus 3", waits(94, 6, 1_200, "60.0"), {}),
    of_a_shift("ReenvioLastRetries", "every second retry helps: 3.2 %", EVERY_SECOND_HELPS),
    of_a_shift("ReenvioLastRetries", "2 of 4 in six hours", waits(2 / 36, 2 / 36, 110 / 36)),
    Case("ReenvioJitterUneven", "31 %", jitter(0.31, 60), DAY, RULE_004, step=HALF_HOUR),
    Case("ReenvioJitterUneven", "29 %", jitter(0.29, 60), DAY, step=HALF_HOUR),
    Case("ReenvioJitterUneven", "60 % of a few waits", jitter(0.60, 1), DAY, step=HALF_HOUR),
    replace(
        of_a_shift("ReenvioBackoffMeanLong", "a whole outage by the schedule: 31.1 min", WHOLE_OUTAGE, {}),
        also=frozenset({"ReenvioLastRetries"}),
    ),
    of_a_shift("ReenvioBackoffMeanLong", "every second retry helps: 13.2 min", EVERY_SECOND_HELPS),
    of_a_shift("ReenvioBackoffMeanLong", "2 long waits in six hours", waits(0, 2 / 36, 160 / 36)),
    Case("ReenvioPayerSlow", "2 of 10 take over a minute", sends(0.8, 0.2), 60, {"payer": "sul"}),
    Case("ReenvioPayerSlow", "1 of 20 takes over a minute", sends(0.95, 0.05), 60),
    Case("ReenvioPayerSlow", "6 sends, all slow", sends(0, 0.2), 60),
    Case("ReenvioAnalysisSlow", "2 % over a second", analyses(98, 2), 60, RULE_005),
    Case(
        "ReenvioAnalysisSlow",
        "2 % by the other rule",
        analyses(98, 2, "RN-BIL-004"),
        60,
        RULE_004,
    ),
    Case("ReenvioAnalysisSlow", "2 %, by Prometheus 3", analyses(98, 2, second="1.0"), 60, RULE_005),
    Case("ReenvioAnalysisSlow", "0.5 % over a second", analyses(99.5, 0.5), 60),
    Case("ReenvioAnalysisSlow", "3 of 6", analyses(0.1, 0.1), 60),
)
