"""The hours in which a payer takes batches."""

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict


class PostingHours(BaseModel):
    """A daily window in a zone; one that closes before it opens reaches over midnight."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    opens: time
    closes: time
    zone: str = "America/Sao_Paulo"

    def __str__(self) -> str:
        """The hours as people write them."""
        return f"{self.opens:%H:%M}-{self.closes:%H:%M} {self.zone}"

    def covers(self, moment: datetime) -> bool:
        """Whether the payer takes batches at this moment."""
        now = moment.astimezone(ZoneInfo(self.zone)).time()
        if self.opens <= self.closes:
            return self.opens <= now < self.closes
        return now >= self.opens or now < self.closes

    def next_opening(self, moment: datetime) -> datetime:
        """The first moment from now on at which the payer takes batches."""
        if self.covers(moment):
            return moment
        local = moment.astimezone(ZoneInfo(self.zone))
        today = datetime.combine(local.date(), self.opens, local.tzinfo)
        return today if today > local else today + timedelta(days=1)
