"""What can go wrong between a worker and its gateway: a closed set."""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

import grpc


class Method(StrEnum):
    """The calls of the gateway that can be troubled."""

    ACTIVATE = "ActivateJobs"
    STREAM = "StreamActivatedJobs"
    COMPLETE = "CompleteJob"
    FAIL = "FailJob"
    THROW = "ThrowError"
    EXTEND = "UpdateJobTimeout"
    TOPOLOGY = "Topology"


INTAKE = frozenset({Method.ACTIVATE, Method.STREAM})
REPORTS = frozenset({Method.COMPLETE, Method.FAIL, Method.THROW})
EVERYTHING = frozenset(Method)


@dataclass(frozen=True, slots=True)
class Refuse:
    """The call is answered with an error; nothing is done."""

    status: grpc.StatusCode
    details: str = "the gateway was told to refuse"


@dataclass(frozen=True, slots=True)
class Delay:
    """The call waits before it is looked at."""

    seconds: float


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """The call is done, but its caller gets an error."""

    status: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE


@dataclass(frozen=True, slots=True)
class Hang:
    """The call is taken and never answered."""


@dataclass(frozen=True, slots=True)
class DeliverTwice:
    """The same delivery arrives two times."""


@dataclass(frozen=True, slots=True)
class ExpireEarly:
    """The lock ends long before its time, while the worker has the job."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SlowStream:
    """A pushed job waits on the way, and those behind it too."""

    seconds: float


@dataclass(frozen=True, slots=True)
class BreakStream:
    """The stream ends with an error in the place of a job, which goes back."""

    status: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE


CallFault = Refuse | Delay | LoseAnswer | Hang
DeliveryFault = DeliverTwice | ExpireEarly | SlowStream | BreakStream
Fault = CallFault | DeliveryFault


@dataclass(frozen=True, slots=True)
class Rule:
    """A fault that befalls these calls, or the jobs they deliver, this often."""

    fault: Fault
    methods: frozenset[Method] = EVERYTHING
    probability: float = 1.0


def name_of(fault: Fault) -> str:
    """How figures call a fault."""
    match fault:
        case Refuse() | LoseAnswer() | BreakStream():
            return f"{type(fault).__name__} {fault.status.name}"
        case Delay() | Hang() | DeliverTwice() | ExpireEarly() | SlowStream():
            return type(fault).__name__
        case _:
            assert_never(fault)
