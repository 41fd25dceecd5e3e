"""How long what is remembered is kept, by why it is kept."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

YEAR = timedelta(days=365.25)
LOG_YEARS_AT_LEAST = 5
"""Both rules: no setting removes decisions and their audit events earlier."""


class RecordKind(StrEnum):
    """Records by why they are kept; each kind has a period of its name."""

    LOG = "log"
    HISTORY = "history"
    PAYLOAD = "payload"
    PUBLISHED = "published"
    FREE_TEXT = "free_text"


@dataclass(frozen=True, slots=True)
class Periods:
    """How long each kind of record is kept, and counts of errors (None: for ever)."""

    log: timedelta = LOG_YEARS_AT_LEAST * YEAR
    history: timedelta = 5 * YEAR
    error_analysis: timedelta | None = None
    payload: timedelta = timedelta(days=90)
    published: timedelta = timedelta(days=30)
    free_text: timedelta = timedelta(days=30)

    def cutoff(self, kind: RecordKind, now: datetime) -> datetime:
        """Before which moment records of a kind are due to go."""
        period: timedelta = getattr(self, kind.value)
        return now - period
