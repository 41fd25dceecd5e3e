"""Runs job handlers against a Zeebe gateway, for as long as it takes."""

from workers.runtime.handler import JobHandler, JobInput, blocking, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Fail, Incident, Outcome, Postpone, Throw
from workers.runtime.timings import Timings

__all__ = [
    "Complete",
    "Fail",
    "Incident",
    "Job",
    "JobHandler",
    "JobInput",
    "Outcome",
    "Postpone",
    "Throw",
    "Timings",
    "blocking",
    "typed",
]
