"""Values that can be kept: what no column, no message and no log can hold is told before anybody uses it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

from bpmn.names import Variable
from domain.inputs import VARIABLES
from domain.legible import is_text
from workers.jobs.variables import DECIDING, VARIABLE_REMEDY
from workers.policy.overrides import REMEDY
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.job_reading import JSON_MAX
from workers.runtime.outcome import Incident, Outcome

MOST_VALUES = 1_000
"""Our variables are single values: what has more in it is none of them, and is not looked through."""
NAME_MAX = 64
FOLDED = frozenset({Variable.SUBMISSION_ERROR, Variable.SUBMISSION_ERROR_CODE, Variable.RETRY_REASON})
"""Texts out of which whoever reads them takes what cannot be seen."""
UNKEPT = "holds what cannot be kept: a character that is none (NUL, half of a pair), NaN or infinity"
TOO_MUCH = f"is too large: at most {JSON_MAX:,} characters and {MOST_VALUES:,} values"


def storable(handler: JobHandler) -> JobHandler:
    """The handler; a value that cannot be kept is an incident that names its variable or header."""
    by_own_rules = frozenset(VARIABLES) if handler.type in DECIDING else frozenset()

    async def handle(job: Job) -> Outcome:
        if wrong := _header_at_fault(job.headers):
            return Incident(f"{job.type}: {wrong}. {REMEDY}")
        if wrong := _variable_at_fault(job.variables, FOLDED, by_own_rules):
            return Incident(f"{job.type}: {wrong}. {VARIABLE_REMEDY}")
        return await handler.handle(job)

    return replace(handler, handle=handle)


def _header_at_fault(headers: Mapping[str, str]) -> str | None:
    for name, value in headers.items():
        if fault := _fault([name, value]):
            shown = f"task header {name}" if name.isprintable() and len(name) <= NAME_MAX else "a task header"
            return f"{shown} {fault}"
    return None


def _variable_at_fault(
    variables: Mapping[str, Any], folded: frozenset[str], by_own_rules: frozenset[str]
) -> str | None:
    for name, value in variables.items():
        is_read_anyway = name in by_own_rules or (name in folded and isinstance(value, str))
        if (fault := _fault(value)) and not (is_read_anyway and fault == UNKEPT):
            return f"variable {name} {fault}"
    return None


def _fault(value: object) -> str | None:
    """What is wrong with a value, at no more cost than its bound allows."""
    waiting = [value]
    for _ in range(MOST_VALUES):
        if not waiting:
            return None
        one = waiting.pop()
        if isinstance(one, str | list | dict) and len(one) > JSON_MAX:
            return TOO_MUCH
        if not _is_kept(one):
            return UNKEPT
        waiting.extend(_parts(one))
    return TOO_MUCH if waiting else None


def _is_kept(value: object) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    return not isinstance(value, str) or ("\x00" not in value and is_text(value))


def _parts(value: object) -> Iterator[object]:
    match value:
        case list():
            yield from value
        case dict():
            yield from value.keys()
            yield from value.values()
