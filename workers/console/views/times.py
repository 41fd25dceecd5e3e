"""Moments and durations as people say them, in their language and zone; exact where one looks closer."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from workers.console.words import Words

MINUTE, HOUR, DAY = 60, 3_600, 86_400


@dataclass(frozen=True, slots=True)
class Said:
    """A moment: as it is said, exactly, and as a machine reads it."""

    text: str
    exact: str
    machine: str


@dataclass(frozen=True, slots=True)
class Times:
    """Says moments as seen from `now`."""

    now: datetime
    zone: tzinfo
    words: Words

    def at(self, moment: datetime) -> Said:
        """When: today 14:35, yesterday 09:10, 12/03 08:00."""
        return self._said(moment, self._point(moment))

    def ago(self, moment: datetime) -> Said:
        """For how long: 12 min, 3 h, 2 days."""
        return self._said(moment, self.lasting(self.now - moment))

    def left(self, moment: datetime) -> Said:
        """How much time is left, or since when it is over."""
        rest = moment - self.now
        name = "time.left" if rest > timedelta() else "time.over"
        return self._said(moment, self.words(name, time=self.lasting(abs(rest))))

    def lasting(self, time: timedelta) -> str:
        """A duration, as roughly as people say it."""
        seconds = max(int(time.total_seconds()), 0)
        if seconds < MINUTE:
            return self.words("time.moment")
        if seconds < HOUR:
            return self.words("time.minutes", n=seconds // MINUTE)
        if seconds < 2 * DAY:
            return self._hours(seconds)
        return self.words("time.days", n=seconds // DAY)

    def _hours(self, seconds: int) -> str:
        hours, rest = divmod(seconds, HOUR)
        if rest < MINUTE or hours >= 10:
            return self.words("time.hours", n=hours)
        return self.words("time.hours_minutes", h=hours, m=f"{rest // MINUTE:02d}")

    def _point(self, moment: datetime) -> str:
        there, here = moment.astimezone(self.zone), self.now.astimezone(self.zone)
        clock, days = f"{there:%H:%M}", (there.date() - here.date()).days
        near = {0: "time.today", 1: "time.tomorrow", -1: "time.yesterday"}
        if days in near:
            return self.words(near[days], clock=clock)
        form = "%d/%m" if self.words.language == "pt" else "%d %b"
        year = "/%Y" if self.words.language == "pt" else " %Y"
        return f"{there.strftime(form if there.year == here.year else form + year)} {clock}"

    def _said(self, moment: datetime, text: str) -> Said:
        there = moment.astimezone(self.zone)
        exact = f"{there:%d/%m/%Y %H:%M:%S} ({there:%z})"
        return Said(text, exact, there.isoformat(timespec="seconds"))


def read_moment(text: str) -> datetime | None:
    """A moment with its zone, out of an address; none near the ends of the calendar can be reckoned with."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo and 2000 <= moment.year <= 2999 else None


def duration(seconds: int, words: Words) -> str:
    """Minutes and seconds: 19 min 12 s."""
    minutes, rest = divmod(seconds, MINUTE)
    said = words("time.minutes", n=minutes)
    return f"{said} {rest} s" if rest else said
