"""The figures as people read them, and the aims they are held against."""

from collections.abc import Mapping
from datetime import timedelta

from tests.outage.figures import MINUTE, Figures
from tests.outage.plan import Plan

SHORTEST_RETRY = timedelta(minutes=5)
"""A claim that met the outage waits so long by the rule: fewer claims than the pace needs that long for are
not held up by the pace."""
_COLUMNS = (
    "",
    "recovered",
    "sends per claim",
    "most sends",
    "peak after recovery / capacity",
    "first protocol after recovery",
    "last protocol after recovery",
    "first to last / what the pace allows",
    "taken twice",
)


def markdown(plan: Plan, results: Mapping[str, Figures]) -> str:
    """One row for each way."""
    hours = plan.outage / timedelta(hours=1)
    title = f"{plan.claims} claims, {hours:g} h outage, {plan.per_minute} requests a minute"
    rows = (_row(name, result) for name, result in results.items())
    head = f"| {' | '.join(_COLUMNS)} |"
    return "\n".join((title, "", head, "|---" * len(_COLUMNS) + "|", *rows))


def unmet(breaker: Figures) -> list[str]:
    """The aims that the breaker misses, with what was measured."""
    kept = {
        f"recovered 100 %: {breaker.recovered:.1%}": breaker.recovered == 1,
        f"at most 1.2 sends per claim: {breaker.attempts_per_claim:.2f}": breaker.attempts_per_claim <= 1.2,
        f"peak at most 1.2 x capacity: {breaker.peak_over_capacity:.2f}": breaker.peak_over_capacity <= 1.2,
        f"first to last protocol at most 1.5 x of the pace: {breaker.drain_over_pace:.2f}": (
            breaker.drain_over_pace <= 1.5 or breaker.at_pace < SHORTEST_RETRY
        ),
        f"nothing taken twice: {breaker.taken_twice}": breaker.taken_twice == 0,
    }
    return [aim for aim, is_met in kept.items() if not is_met]


def _row(name: str, result: Figures) -> str:
    first, last = result.to_first_protocol / MINUTE, result.to_last_protocol / MINUTE
    return (
        f"| {name} | {result.recovered:.1%} | {result.attempts_per_claim:.2f} | {result.most_attempts} "
        f"| {result.peak_over_capacity:.2f} | {first:.1f} min | {last:.1f} min "
        f"| {result.drain_over_pace:.2f} | {result.taken_twice} |"
    )
