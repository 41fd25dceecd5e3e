"""What a handler may answer: a closed set, turned into engine verbs in one place (reporting)."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Complete:
    """The work is done; the variables go up to the process."""

    variables: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Throw:
    """A business error that the model catches, with what it needs to go on."""

    code: str
    message: str
    variables: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fail:
    """A technical failure: tried again after a while, and an incident when retries run out."""

    message: str
    backoff: timedelta


@dataclass(frozen=True, slots=True)
class Incident:
    """Nothing but a person can help; the message says what happened, which rule, what to do.

    `is_undone` says that the job may be done anew as often as a person asks.
    """

    message: str
    is_undone: bool = False


@dataclass(frozen=True, slots=True)
class Postpone:
    """Not now, and through no fault of the job: again after a while, at no cost to its retries."""

    message: str
    backoff: timedelta


Outcome = Complete | Throw | Fail | Incident | Postpone


@dataclass(frozen=True, slots=True)
class HandBack:
    """The runtime's own answer for a job that was not begun: no retry is spent."""

    reason: str


Report = Outcome | HandBack


def incident_of(outcome: Outcome, retries: int) -> str | None:
    """The message of the incident that this outcome raises in a job with so many retries left, if it does."""
    match outcome:
        case Incident(message):
            return message
        case Fail(message) if retries <= 1:
            return message
        case _:
            return None


def backoff_of(outcome: Outcome, retries: int) -> timedelta | None:
    """How long a job with so many retries left rests at the engine before it comes again, if it does."""
    match outcome:
        case Postpone(_, backoff):
            return backoff
        case Fail(_, backoff) if retries > 1:
            return backoff
        case _:
            return None


def to_json(outcome: Complete | Throw) -> dict[str, Any]:
    """A stored form, so that a redelivered job can be given the very answer it got before."""
    match outcome:
        case Complete(variables):
            return {"complete": variables}
        case Throw(code, message, variables):
            return {"throw": code, "message": message, "variables": variables}


def from_json(stored: dict[str, Any]) -> Complete | Throw:
    """The outcome that was stored."""
    if "complete" in stored:
        return Complete(stored["complete"])
    return Throw(stored["throw"], stored["message"], stored["variables"])
