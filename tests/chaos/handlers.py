"""The work of the chaos tests: claims with known fates, secrets in every variable, effects by claim."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from tests.chaos.effects import Effects
from tests.support.faults import End
from workers.runtime import Complete, Fail, Incident, Job, JobHandler, Outcome, Throw

SECRET = "Dores Xavier"
TYPES = {"chaos-wide": 32, "chaos-narrow": 8}
LOCK, TIME_LIMIT = timedelta(seconds=2), timedelta(seconds=1.5)
SOON = timedelta(milliseconds=50)
CRASHES = (503, 803)  # early ones of a long run: the runtime waits some seconds after a crash


def claim(number: int) -> dict[str, Any]:
    """A claim's variables; the last one is not for the worker."""
    patient = f"Maria das {SECRET} {number}"
    return {"claimId": f"CLM-{number}", "number": number, "patient": patient, "notes": f"notes on {patient}"}


def type_of(number: int) -> str:
    """Two thirds of the claims are for the wide handler."""
    return "chaos-narrow" if number % 3 == 0 else "chaos-wide"


def fate(number: int) -> End:
    """How the job of a claim must end."""
    match number % 50:
        case 7:
            return End.THROWN
        case 13:
            return End.INCIDENT
        case _:
            return End.COMPLETED


class ClaimHandler:
    """Handles claims; counts how many it runs at the same time."""

    def __init__(self, effects: Effects, lock: timedelta = LOCK) -> None:
        self._effects = effects
        self._lock = lock
        self._runs = itertools.count(1)
        self._running: Counter[str] = Counter()
        self.most_at_once: Counter[str] = Counter()
        self.unwanted: set[str] = set()

    def by_type(self) -> list[JobHandler]:
        """One handler for each job type, with its own limit."""
        return [
            JobHandler(
                type=type_,
                variables=("claimId", "number", "patient"),
                handle=self.handle,
                lock=self._lock,
                time_limit=TIME_LIMIT,
                at_once=at_once,
            )
            for type_, at_once in TYPES.items()
        ]

    async def handle(self, job: Job) -> Outcome:
        """Bring about the claim's effect, once, and answer by its fate."""
        run = f"run-{next(self._runs)}"
        with self._holding(job.type):
            self.unwanted |= job.variables.keys() - {"claimId", "number", "patient"}
            number, patient = job.variables["number"], job.variables["patient"]
            await asyncio.sleep(0.003 if number % 7 == 0 else 0)
            tried = self._effects.apply(job.variables["claimId"], run)
            return _answer(number, first=tried == 0, said={"run": run, "patient": patient})

    @contextmanager
    def _holding(self, type_: str) -> Iterator[None]:
        self._running[type_] += 1
        self.most_at_once[type_] = max(self.most_at_once[type_], self._running[type_])
        try:
            yield
        finally:
            self._running[type_] -= 1


def _answer(number: int, *, first: bool, said: dict[str, str]) -> Outcome:
    text = f"{said['run']}: {said['patient']}"
    if fate(number) is End.THROWN:
        return Throw("REFUSED", text, said)
    if fate(number) is End.INCIDENT:
        return Incident(text)
    if first and number % 50 == 21:
        return Fail(text, SOON)
    if first and number in CRASHES:
        raise ValueError(text)
    return Complete(said)
