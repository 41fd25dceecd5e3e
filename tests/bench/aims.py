"""The aims of the runtime, each held against the measured medians."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tests.bench.figures import Summary
from tests.bench.names import Name


class Verdict(StrEnum):
    """What became of an aim."""

    MET = "met"
    NOT_MET = "NOT met"
    UNKNOWN = "not measured"
    TOO_FEW = "too few rounds to tell"


@dataclass(frozen=True, slots=True)
class Aim:
    """A ratio of one of ours to the best of its rivals, and the bound it should keep."""

    text: str
    rivals: tuple[Name, ...]
    figure: Callable[[Summary], float]
    bound: float
    at_least: bool
    ours: Name = Name.OURS


@dataclass(frozen=True, slots=True)
class Judged:
    """An aim with its ratio."""

    aim: Aim
    ratio: float | None
    verdict: Verdict


def _speed(summary: Summary) -> float:
    return summary.jobs_per_second.middle


def _cpu(summary: Summary) -> float:
    return summary.cpu_ms_per_job.middle


def _latency(summary: Summary) -> float:
    return summary.p50_ms.middle


ENOUGH_ROUNDS = 3
_JAVA = (Name.JAVA_POLLING, Name.JAVA_STREAMING)
_TUNED = (Name.PYZEEBE_TUNED, Name.PYZEEBE_GENTLE)
AIMS = (
    Aim("jobs/s >= 1.1 x the better Java figure", _JAVA, _speed, 1.1, at_least=True),
    Aim("jobs/s >= 1.3 x the better tuned pyzeebe", _TUNED, _speed, 1.3, at_least=True),
    Aim("jobs/s >= 40 x pyzeebe defaults", (Name.PYZEEBE_DEFAULTS,), _speed, 40, at_least=True),
    Aim("p50 latency <= Java streaming", (Name.JAVA_STREAMING,), _latency, 1.0, at_least=False),
    Aim("CPU per job <= 0.7 x the thriftier tuned pyzeebe", _TUNED, _cpu, 0.7, at_least=False),
    Aim(
        "jobs/s with the decision on PostgreSQL >= 0.9 x without",
        (Name.OURS,),
        _speed,
        0.9,
        at_least=True,
        ours=Name.DECISION_POSTGRESQL,
    ),
    Aim(
        "jobs/s with all telemetry on >= 0.95 x off",
        (Name.TELEMETRY_OFF,),
        _speed,
        0.95,
        at_least=True,
        ours=Name.TELEMETRY_ON,
    ),
)


def judge(aim: Aim, summaries: Mapping[Name, Summary]) -> Judged:
    """The ratio of our worker to the best rival of the aim; every rival must have been measured."""
    ours = summaries.get(aim.ours)
    rivals = [summaries[name] for name in aim.rivals if name in summaries]
    if ours is None or len(rivals) < len(aim.rivals):
        return Judged(aim, None, Verdict.UNKNOWN)
    best = max if aim.at_least else min
    ratio = aim.figure(ours) / best(map(aim.figure, rivals))
    if min(one.rounds for one in (ours, *rivals)) < ENOUGH_ROUNDS:
        return Judged(aim, ratio, Verdict.TOO_FEW)
    kept = ratio >= aim.bound if aim.at_least else ratio <= aim.bound
    return Judged(aim, ratio, Verdict.MET if kept else Verdict.NOT_MET)
