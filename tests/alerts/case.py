"""What promtool is asked: which series there are, and whether the alert fires then."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.alert_rules import RULES

LONG = 150
"""Values that a series has, more than any case looks at."""
READY: Mapping[str, str] = {'reenvio_ready{instance="a"}': f"1+0x{LONG}"}


def steady(value: float) -> str:
    """A series that stays as it is."""
    return f"{value}+0x{LONG}"


def rising(by: float) -> str:
    """A counter that rises by so much a step."""
    return f"0+{by}x{LONG}"


def once(value: float, step: int) -> str:
    """A counter that begins with 0 and jumps."""
    return f"0+0x{step} {value}+0x{LONG}"


@dataclass(frozen=True, slots=True)
class Case:
    """A world of series, one value per step in promtool's notation, and what fires in it after `minutes`.

    Every series gets the label of the scrape job, and a worker is ready unless `world` says otherwise. A
    step is a minute, unless `step` says more.
    """

    alert: str
    about: str
    series: Mapping[str, str]
    minutes: int
    fires: Mapping[str, str] | None = None
    """The labels with which it fires; None: it does not."""
    also: frozenset[str] = field(default_factory=frozenset)
    """Other alerts that rightly fire in the same world."""
    world: Mapping[str, str] = field(default_factory=lambda: READY)
    step: int = 1

    def __str__(self) -> str:
        return f"{self.alert} {'fires' if self.fires is not None else 'is silent'}: {self.about}"

    def as_test(self) -> dict[str, Any]:
        """The file that promtool reads."""
        series = [
            {"series": _of_job(name), "values": values}
            for name, values in (*self.world.items(), *self.series.items())
        ]
        every, rules = f"{self.step}m", [str(file) for file in RULES]
        test = {"interval": every, "input_series": series, "promql_expr_test": [_own(self), _others(self)]}
        return {"rule_files": rules, "evaluation_interval": every, "tests": [test]}


def _own(case: Case) -> dict[str, Any]:
    query = (
        f'sum without (alertstate, severity, team) (ALERTS{{alertname="{case.alert}", alertstate="firing"}})'
    )
    expected = [] if case.fires is None else [_sample(case.alert, case.fires)]
    return {"expr": query, "eval_time": f"{case.minutes}m", "exp_samples": expected}


def _others(case: Case) -> dict[str, Any]:
    """Nothing else fires: one fault has one name, or those that are said."""
    query = f'group by (alertname) (ALERTS{{alertname!="{case.alert}", alertstate="firing"}})'
    expected = [_sample(name, {}) for name in sorted(case.also)]
    return {"expr": query, "eval_time": f"{case.minutes}m", "exp_samples": expected}


def _sample(alert: str, labels: Mapping[str, str]) -> dict[str, Any]:
    pairs = ", ".join(f'{name}="{value}"' for name, value in {"alertname": alert, **labels}.items())
    return {"labels": f"{{{pairs}}}", "value": 1}


def _of_job(series: str) -> str:
    name, _, labels = series.partition("{")
    return f'{name}{{job="reenvio", {labels}' if labels else f'{name}{{job="reenvio"}}'
