"""The gateway's jobs: locks that end, retries that wait, incidents, all on a clock that is given.

As in Zeebe, whoever names an open job may settle it, lock or no lock, and a lock that ends costs no retry.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import grpc

from tests.support.faults.jobs import RejectedError, State, StoredJob, Terms
from tests.support.faults.ledger import End, Ledger

KEY_STEP = 8
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class JobStore:
    """Open jobs; `announce` hears of each job that becomes activatable."""

    def __init__(
        self, clock: Callable[[], float], ledger: Ledger, announce: Callable[[StoredJob], None]
    ) -> None:
        self._clock = clock
        self._ledger = ledger
        self._announce = announce
        self._jobs: dict[int, StoredJob] = {}
        self._activatable: dict[str, dict[int, StoredJob]] = defaultdict(dict)
        self._due: list[tuple[float, int, int]] = []
        self._last_key = 0

    def create(
        self,
        type_: str,
        variables: Mapping[str, Any] | str,
        *,
        retries: int = 3,
        headers: Mapping[str, str] | str = NO_HEADERS,
    ) -> int:
        """A new job, activatable at once; its key."""
        self._last_key += KEY_STEP
        job = StoredJob(self._last_key, type_, variables, retries, headers)
        self._jobs[job.key] = job
        self._ledger.job_created(job.key, self._clock())
        self._offer(job)
        return job.key

    def open_jobs(self) -> list[StoredJob]:
        """Jobs that have not come to an end."""
        return [job for job in self._jobs.values() if job.state is not State.INCIDENT]

    def forget_ended(self) -> None:
        """Drop incidents too, and all stories that have ended, so that a long run keeps its memory."""
        self._jobs = {key: job for key, job in self._jobs.items() if job.state is not State.INCIDENT}
        self._ledger.forget_ended()

    def is_activatable(self, key: int) -> bool:
        """Whether somebody may take the job now."""
        return key in self._jobs and self._jobs[key].state is State.ACTIVATABLE

    def take(self, type_: str, limit: int, terms: Terms) -> list[StoredJob]:
        """Activate up to a number of jobs, the longest waiting first."""
        waiting = self._activatable[type_]
        taken = [job for job, _ in zip(waiting.values(), range(limit), strict=False)]
        for job in taken:
            self.activate(job, terms)
        return taken

    def activate(self, job: StoredJob, terms: Terms) -> None:
        """Lock one activatable job."""
        self._leave_queue(job)
        job.state = State.ACTIVATED
        self._wait(job, terms.lock)
        self._ledger.job_delivered(job.key)

    def expire(self, job: StoredJob, after: timedelta) -> None:
        """End the job's lock sooner than agreed."""
        if job.state is State.ACTIVATED:
            self._wait(job, after)

    def give_back(self, job: StoredJob) -> None:
        """A job that could not be handed over is activatable again."""
        if self._jobs.get(job.key) is job and job.state is State.ACTIVATED:
            self._offer(job)

    def complete(self, key: int) -> None:
        """The work is done."""
        self._end(self._reportable(key), End.COMPLETED)

    def throw(self, key: int, code: str) -> None:
        """The model goes on at the error's boundary event."""
        self._end(self._reportable(key), End.THROWN, detail=code)

    def fail(self, key: int, *, retries: int, backoff: timedelta, message: str) -> None:
        """Tried again, after a while if so asked; without retries an incident."""
        job = self._reportable(key)
        self._leave_queue(job)
        job.retries = retries
        if retries <= 0:
            job.state = State.INCIDENT
            self._ledger.job_ended(key, End.INCIDENT, now=self._clock(), detail=message)
        elif backoff > timedelta():
            job.state = State.BACKING_OFF
            self._wait(job, backoff)
        else:
            self._offer(job)

    def extend(self, key: int, lock: timedelta) -> None:
        """A new lock, counted from now."""
        job = self._known(key)
        if job.state is not State.ACTIVATED:
            raise RejectedError(grpc.StatusCode.FAILED_PRECONDITION, f"job {key} is not activated")
        self._wait(job, lock)

    def tick(self) -> None:
        """Let ended locks and waits take effect."""
        now = self._clock()
        while self._due and self._due[0][0] <= now:
            _, key, turn = heapq.heappop(self._due)
            job = self._jobs.get(key)
            if job is not None and job.turn == turn and job.state is not State.INCIDENT:
                self._ledger.expiries += job.state is State.ACTIVATED
                self._offer(job)

    def _offer(self, job: StoredJob) -> None:
        job.state = State.ACTIVATABLE
        job.turn += 1
        self._activatable[job.type][job.key] = job
        self._announce(job)

    def _wait(self, job: StoredJob, time: timedelta) -> None:
        job.turn += 1
        heapq.heappush(self._due, (self._clock() + time.total_seconds(), job.key, job.turn))

    def _leave_queue(self, job: StoredJob) -> None:
        self._activatable[job.type].pop(job.key, None)

    def _end(self, job: StoredJob, end: End, detail: str = "") -> None:
        self._leave_queue(job)
        del self._jobs[job.key]
        self._ledger.job_ended(job.key, end, now=self._clock(), detail=detail)

    def _reportable(self, key: int) -> StoredJob:
        self._ledger.job_reported(key)
        job = self._known(key)
        if job.state not in (State.ACTIVATABLE, State.ACTIVATED):
            text = f"job {key} is in state {job.state.name}"
            raise RejectedError(grpc.StatusCode.FAILED_PRECONDITION, text)
        return job

    def _known(self, key: int) -> StoredJob:
        if key not in self._jobs:
            raise RejectedError(grpc.StatusCode.NOT_FOUND, f"no such job was found: {key}")
        return self._jobs[key]
