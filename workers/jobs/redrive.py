"""redrive-dead-letters: one step of the automatic redrive; the process holds the waits between waves."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field

from bpmn.names import JobType, Variable
from domain.mail.redrive import RedriveTerms
from workers.jobs.services import Services
from workers.mail.automatic_redrive import AutomaticRedrive, SentWave
from workers.runtime.handler import Count, JobHandler, JobInput, ShortText, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome


def _in_the_calendar(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("must be a moment that the calendar has") from error


class RedriveInput(JobInput):
    """The wave that was sent last; nothing at the beginning."""

    redrive_code: ShortText | None = None
    redrive_wave: Count | None = None
    redrive_size: Count | None = None
    redrive_since: Annotated[AwareDatetime, Field(strict=False), AfterValidator(_in_the_calendar)] | None = (
        None
    )

    def wave(self) -> SentWave | None:
        """The same as a value."""
        given = self.redrive_code, self.redrive_wave, self.redrive_size, self.redrive_since
        match given:
            case (str(code), int(number), int(size), since) if since is not None:
                return SentWave(code, number, size, since)
        return None


def redrive_dead_letters(services: Services) -> JobHandler:
    """The handler; where no code has a cool-down it does nothing."""

    async def handle(_job: Job, given: RedriveInput) -> Outcome:
        mail = services.mail
        if mail is None or not mail.cool_downs:
            return Complete({Variable.PROCESSED_COUNT: 0, Variable.REDRIVE_GOES_ON: False})
        redrive = AutomaticRedrive(services.store, mail.queue, mail.cool_downs, RedriveTerms())
        return Complete(_told(await redrive.step(given.wave(), await services.clock.now())))

    return JobHandler(
        type=JobType.REDRIVE_DEAD_LETTERS,
        variables=RedriveInput.names(),
        handle=typed(RedriveInput, handle),
        lock=timedelta(minutes=5),
        time_limit=timedelta(minutes=4),
        at_once=1,
    )


def _told(wave: SentWave | None) -> dict[str, object]:
    if wave is None:
        return {Variable.PROCESSED_COUNT: 0, Variable.REDRIVE_GOES_ON: False}
    return {
        Variable.PROCESSED_COUNT: wave.size,
        Variable.REDRIVE_GOES_ON: True,
        Variable.REDRIVE_CODE: wave.code,
        Variable.REDRIVE_WAVE: wave.number,
        Variable.REDRIVE_SIZE: wave.size,
        Variable.REDRIVE_SINCE: wave.since.isoformat(),
    }
