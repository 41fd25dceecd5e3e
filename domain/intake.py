"""What a claim that comes in is held to: how large its file may be, and when it must be with its payer."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from domain.durations import LONGEST_AHEAD, read_duration
from domain.refusals import malformed, unprocessable

MAX_FILE_BYTES = 20_000_000
"""The largest file that may ever be read, whatever the terms say."""
_FORM = "Write 48h, or a moment such as 2026-01-15T18:00:00-03:00 (in a URL, + is written %2B)."


@dataclass(frozen=True, slots=True)
class IntakeTerms:
    """How large a file may be, and how soon a claim that names no deadline is due."""

    max_bytes: int
    due_within: timedelta
    zone: tzinfo

    def due(self, given: str | None, now: datetime) -> datetime:
        """When a claim must be with its payer: as somebody wrote it, or as the terms say."""
        return deadline_from(given, now, self.zone) if given else now + self.due_within


def deadline_from(text: str, now: datetime, zone: tzinfo) -> datetime:
    """The moment or duration meant, never in the past; a time without offset is read in the zone."""
    return moment_ahead("deadline", text, now, zone)


def moment_ahead(field: str, text: str, now: datetime, zone: tzinfo) -> datetime:
    """The same for any field that a person fills so."""
    try:
        duration = read_duration(text.strip())
        moment = now + duration if duration is not None else _instant(text.strip(), zone)
    except (ValueError, OverflowError) as error:
        raise malformed(
            field, "it is neither a moment nor a duration", rule="ISO 8601", remedy=_FORM
        ) from error
    if moment > now + LONGEST_AHEAD:
        raise unprocessable(
            field,
            "it lies too far ahead",
            rule=f"at most {LONGEST_AHEAD.days // 365} years ahead",
            remedy="Give an earlier one, or leave it out.",
        )
    if moment <= now:
        raise unprocessable(
            field,
            f"{moment.isoformat(timespec='seconds')} is not in the future",
            rule=f"a {field} lies ahead",
            remedy="Give a later one, or leave it out.",
        )
    return moment


def _instant(text: str, zone: tzinfo) -> datetime:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
