"""Runs job handlers against a Zeebe gateway."""

from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Fail, Incident, Outcome, Throw
from workers.runtime.worker import Worker

__all__ = ["Complete", "Fail", "Incident", "Job", "JobHandler", "Outcome", "Throw", "Worker"]
