"""What becomes of a job while the database is in trouble: it waits for as long as that may pass."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from persistence.database.trouble import UNREACHABLE, DatabaseError, may_pass
from persistence.encryption.cipher import CipherError
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Fail, Incident, Outcome, Postpone

PAUSE = timedelta(seconds=20)
BACKOFFS = {3: timedelta(seconds=20), 2: timedelta(seconds=60)}
LAST_BACKOFF = timedelta(minutes=5)
UNSEALED = (
    "`reenvio keys list` shows which keys are needed. Give every worker that key and restart it; or, when it "
    "is lost, hand the same file in again, which seals it anew. Then `reenvio claim resolve` with its "
    "claim id, or retry in Operate."
)


def outage_tolerant(
    handler: JobHandler, refuses: Callable[[], bool], doubt: Callable[[], None] = lambda: None
) -> JobHandler:
    """The handler; trouble that may pass costs no retry, other trouble is an incident after three.

    What was sealed with a key that is not here is one at once: no retry brings the key.

    `doubt` is told of trouble, and of jobs that were cut short: the database may be the reason. It is when it
    `refuses`: then the job was cut short through no fault of its own.
    """

    async def handle(job: Job) -> Outcome:
        try:
            return await handler.handle(job)
        except asyncio.CancelledError:
            doubt()
            raise
        except CipherError as error:
            return Incident(f"{job.type}: {error} {UNSEALED}", is_undone=True)
        except (DatabaseError, *UNREACHABLE) as error:
            doubt()
            return _outcome(job, error)

    def late(job: Job) -> Outcome | None:
        return Postpone(f"{job.type}: {_too_late(handler)}", PAUSE) if refuses() else None

    return replace(handler, handle=handle, late=late)


def _outcome(job: Job, error: Exception) -> Outcome:
    message = f"{job.type}: {_line(error)}"
    if may_pass(error):
        return Postpone(message, PAUSE)
    return Fail(message, BACKOFFS.get(job.retries, LAST_BACKOFF))


def _too_late(handler: JobHandler) -> str:
    limit = handler.time_limit.total_seconds()
    return f"The database did not answer within {limit:g} s: see that it runs and is not overloaded."


def _line(error: Exception) -> str:
    """Our own words only; a driver's may quote values."""
    return str(error) if isinstance(error, DatabaseError) else f"the database failed ({type(error).__name__})"
