"""Outcomes as JSON, so that a redelivered job can be given the very answer it got before."""

from typing import Any

from workers.runtime.outcome import Complete, Throw


def to_json(outcome: Complete | Throw) -> dict[str, Any]:
    """A stored form of an outcome."""
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
