"""What a job says of the engine's clock."""

from datetime import UTC, datetime, timedelta

from workers.runtime.job import Job


def engine_time(job: Job, lock: timedelta, now: datetime) -> datetime | None:
    """The engine's present moment, as near to ours as its word allows: the job's lock lasts."""
    if job.deadline is None:
        return None
    end = datetime.fromtimestamp(job.deadline, UTC)
    return min(max(now, end - lock), end)
