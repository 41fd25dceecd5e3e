"""Jobs as the gateway keeps them, and how it shows them to a worker."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, auto
from typing import Any

import grpc
from pyzeebe.proto.gateway_pb2 import ActivatedJob


class State(Enum):
    """Where an open job stands; ended jobs are gone, except those with an incident."""

    ACTIVATABLE = auto()
    ACTIVATED = auto()
    BACKING_OFF = auto()
    INCIDENT = auto()


@dataclass(slots=True)
class StoredJob:
    """An open job; `turn` tells apart the locks and waits it has had; a text goes out as it is written."""

    key: int
    type: str
    variables: Mapping[str, Any] | str
    retries: int
    headers: Mapping[str, str] | str = field(default_factory=dict)
    state: State = State.ACTIVATABLE
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a worker takes jobs."""

    worker: str
    lock: timedelta
    variables: Collection[str]


class RejectedError(Exception):
    """The store does not do what it was asked."""

    def __init__(self, status: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.status = status


def activated(job: StoredJob, terms: Terms, *, deadline: float) -> ActivatedJob:
    """The job as a worker gets it; no names of variables mean all of them."""
    return ActivatedJob(
        key=job.key,
        type=job.type,
        processInstanceKey=job.key + 1,
        bpmnProcessId="FAULTS",
        processDefinitionVersion=1,
        elementId="Task",
        elementInstanceKey=job.key + 2,
        customHeaders=_written(job.headers, ()),
        worker=terms.worker,
        retries=job.retries,
        deadline=round(deadline * 1000),
        variables=_written(job.variables, terms.variables),
    )


def _written(content: Mapping[str, Any] | str, names: Collection[str]) -> str:
    if isinstance(content, str):
        return content
    return json.dumps({name: value for name, value in content.items() if not names or name in names})
