"""What becomes of a job while the database is in trouble: it waits longer each time, then is an incident."""

from dataclasses import replace
from datetime import timedelta

from persistence.database import UNREACHABLE, DatabaseError
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Fail, Outcome

BACKOFFS = {3: timedelta(seconds=20), 2: timedelta(seconds=60)}
LAST_BACKOFF = timedelta(minutes=5)


def patient(handler: JobHandler) -> JobHandler:
    """The handler, with a backoff that grows as the engine's retries run out."""

    async def handle(job: Job) -> Outcome:
        try:
            return await handler.handle(job)
        except (DatabaseError, *UNREACHABLE) as error:
            return Fail(f"{job.type}: {_line(error)}", BACKOFFS.get(job.retries, LAST_BACKOFF))

    return replace(handler, handle=handle)


def _line(error: Exception) -> str:
    """Our own words only; a driver's may quote values."""
    return str(error) if isinstance(error, DatabaseError) else f"the database failed ({type(error).__name__})"
