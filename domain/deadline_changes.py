"""Another deadline for a claim, as a person orders it: what is meant, how it is kept, what it cuts short."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from domain.intake import deadline_from
from domain.outputs import iso_time

NONE = "none"
"""Written for a claim that is to have no deadline."""
_KEPT = re.compile(r"deadline (\S+), before (\S+)")


@dataclass(frozen=True, slots=True)
class DeadlineChange:
    """When a claim is to be with its payer from now on, and when it was until now; None: no deadline."""

    after: datetime | None
    before: datetime | None

    @property
    def action(self) -> str:
        """The order as it is kept: what it was before is sealed with it, so that it can be set back."""
        return f"deadline {said(self.after)}, before {said(self.before)}"


def read_change(action: str) -> DeadlineChange | None:
    """The change of a kept order; None where it was about something else."""
    found = _KEPT.fullmatch(action)
    return DeadlineChange(_read(found[1]), _read(found[2])) if found else None


def wished_deadline(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    """What somebody wrote: a moment ahead, a duration, or `none`; a refusal says what is wrong."""
    if text.strip().lower() == NONE:
        return None
    return deadline_from(text, now, zone).replace(microsecond=0)


def said(deadline: datetime | None) -> str:
    """A deadline in the form it is kept and can be given again."""
    return iso_time(deadline) if deadline else NONE


def cuts_wait(until: datetime | None, deadline: datetime | None, reserve: timedelta) -> bool:
    """Whether a wait would reach into the time that is kept for a person before the deadline."""
    return until is not None and deadline is not None and until > deadline - reserve


def _read(text: str) -> datetime | None:
    return None if text == NONE else datetime.fromisoformat(text).astimezone(UTC)
