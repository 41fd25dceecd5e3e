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
    """An open job; `turn` tells apart the locks and waits it has had."""

    key: int
    type: str
    variables: Mapping[str, Any]
    retries: int
    headers: Mapping[str, str] = field(default_factory=dict)
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
    wanted = {k: v for k, v in job.variables.items() if not terms.variables or k in terms.variables}
    return ActivatedJob(
        key=job.key,
        type=job.type,
        processInstanceKey=job.key + 1,
        bpmnProcessId="FAULTS",
        processDefinitionVersion=1,
        elementId="Task",
        elementInstanceKey=job.key + 2,
        customHeaders=json.dumps(dict(job.headers)),
        worker=terms.worker,
        retries=job.retries,
        deadline=round(deadline * 1000),
        variables=json.dumps(wanted),
    )
