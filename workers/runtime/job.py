"""A job as a handler sees it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyzeebe.proto.gateway_pb2 import ActivatedJob


@dataclass(frozen=True, slots=True)
class Job:
    """One delivery of one job; the same key may be delivered more than once.

    `deadline` is when its lock ends, in seconds of the engine's clock. `fault` says why its variables or
    headers cannot be read: such a job is an incident and reaches no handler.
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

    def __repr__(self) -> str:
        """Names the job without its variables, which must not reach a log."""
        return f"Job({self.key}, {self.type!r}, {self.element_id!r})"


def read_job(activated: ActivatedJob) -> Job:
    """A job from the gateway's message, whatever it holds: what cannot be read becomes the job's fault."""
    try:
        headers = _headers(_object(activated.customHeaders, "task headers"))
        variables, fault = _object(activated.variables, "process variables"), None
    except _UnreadableError as unreadable:
        headers, variables, fault = {}, {}, f"{activated.type}: {unreadable}"
    return Job(
        key=activated.key,
        type=activated.type,
        element_id=activated.elementId,
        process_instance_key=activated.processInstanceKey,
        retries=activated.retries,
        headers=headers,
        variables=variables,
        deadline=activated.deadline / 1000,
        element_instance_key=activated.elementInstanceKey,
        fault=fault,
    )


class _UnreadableError(Exception):
    """One line without a word of the content."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"the {what} cannot be read ({why}). Correct them in Operate, then retry.")


def _object(text: str, what: str) -> dict[str, Any]:
    try:
        read = json.loads(text or "{}")
    except RecursionError:
        raise _UnreadableError(what, "nested too deeply") from None
    except ValueError:
        raise _UnreadableError(what, "not JSON") from None
    if not isinstance(read, dict):
        raise _UnreadableError(what, "not a JSON object")
    return read


def _headers(read: dict[str, Any]) -> dict[str, str]:
    if not all(isinstance(value, str) for value in read.values()):
        raise _UnreadableError("task headers", "a value is not a text")
    return read
