"""A job as a handler sees it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Job:
    """One delivery of one job; the same key may be delivered more than once.

    `deadline` is when its lock ends, in seconds of the engine's clock. `fault` says why its variables or
    headers cannot be read: such a job is an incident and reaches no handler. `engine_key` is its key at the
    engine where `key` is that of an earlier job, whose task was begun again.
    """

    key: int
    type: str
    element_id: str
    process_instance_key: int
    retries: int
    headers: Mapping[str, str]
    variables: Mapping[str, Any]
    deadline: float | None = None
    element_instance_key: int = 0
    fault: str | None = None
    engine_key: int = 0

    def __repr__(self) -> str:
        """Names the job without its variables, which must not reach a log."""
        return f"Job({self.key}, {self.type!r}, {self.element_id!r})"
