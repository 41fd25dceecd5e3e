"""A job as a handler sees it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyzeebe.proto.gateway_pb2 import ActivatedJob


@dataclass(frozen=True, slots=True)
class Job:
    """One delivery of one job; the same key may be delivered more than once.

    `deadline` is when its lock ends, in seconds of the engine's clock.
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

    def __repr__(self) -> str:
        """Names the job without its variables, which must not reach a log."""
        return f"Job({self.key}, {self.type!r}, {self.element_id!r})"


def read_job(activated: ActivatedJob) -> Job:
    """A job from the gateway's message."""
    return Job(
        key=activated.key,
        type=activated.type,
        element_id=activated.elementId,
        process_instance_key=activated.processInstanceKey,
        retries=activated.retries,
        headers=json.loads(activated.customHeaders or "{}"),
        variables=json.loads(activated.variables or "{}"),
        deadline=activated.deadline / 1000,
        element_instance_key=activated.elementInstanceKey,
    )
