"""The hours in which a payer takes batches."""

from datetime import datetime, time, timedelta
from typing import Annotated, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator


def _existing(zone: str) -> str:
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError) as error:  # a folder of zones is an OSError
        raise ValueError("choose a zone such as America/Sao_Paulo") from error
    return zone


Zone = Annotated[str, AfterValidator(_existing)]


class PostingHours(BaseModel):
    """A daily window in a zone; one that closes before it opens reaches over midnight."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    opens: time
    closes: time
    zone: Zone = "America/Sao_Paulo"

    @model_validator(mode="after")
    def _opens_every_day(self) -> Self:
        if self.opens.tzinfo or self.closes.tzinfo:
            raise ValueError("opens and closes are local times: name the zone instead of an offset")
        if self.opens == self.closes:
            raise ValueError("opens and closes are the same: leave the hours out where it never closes")
        return self

    def __str__(self) -> str:
        """The hours as people write them."""
        return f"{self.opens:%H:%M}-{self.closes:%H:%M} {self.zone}"

    def covers(self, moment: datetime) -> bool:
        """Whether the payer takes batches at this moment."""
        now = moment.astimezone(ZoneInfo(self.zone)).time()
        if self.opens < self.closes:
            return self.opens <= now < self.closes
        return now >= self.opens or now < self.closes

    def next_opening(self, moment: datetime) -> datetime:
        """The first moment from now on at which the payer takes batches."""
        if self.covers(moment):
            return moment
        local = moment.astimezone(ZoneInfo(self.zone))
        today = datetime.combine(local.date(), self.opens, local.tzinfo)
        return today if today > local else today + timedelta(days=1)
