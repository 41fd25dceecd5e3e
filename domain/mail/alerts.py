"""The documents' alerts on mail that the database can answer: above which number somebody acts, and how.

Those on failed attempts and on Redis need figures over time: they are Prometheus's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

MANY = 100
"""03 and 02: `jobs_na_dlq > 100`."""
MANY_PERCENT = 2
"""03: `taxa_dlq > 2%` of what is sent."""
MANY_OF_ONE = 50
"""03: `jobs_dlq_por_empresa > 50`."""
TOO_LONG = timedelta(minutes=5)
"""02: processing takes longer than 5 minutes."""


@dataclass(frozen=True, slots=True)
class MailBalance:
    """How many mails ended in a span of time, as what."""

    sent: int = 0
    failed: int = 0

    @property
    def failed_percent(self) -> float:
        """The share of those that failed; nothing when none ended."""
        ended = self.sent + self.failed
        return 100 * self.failed / ended if ended else 0.0


@dataclass(frozen=True, slots=True)
class MailFigures:
    """What the alerts look at; `waited` is the age of the oldest mail that is not over."""

    dead_letters: int
    balance: MailBalance
    by_company: Mapping[str, int]
    waited: timedelta | None


def due_alerts(figures: MailFigures) -> Iterator[str]:
    """What to do, for every alert that is due."""
    if figures.dead_letters > MANY:
        yield f"More than {MANY}: look for a cause by code and company before you redrive."
    if figures.balance.failed_percent > MANY_PERCENT:
        share = f"{figures.balance.failed_percent:.1f} %"
        yield f"More than {MANY_PERCENT} % of what is sent fails ({share}): look for a pattern by code."
    if crowded := [
        f"{one} has {number}" for one, number in figures.by_company.items() if number > MANY_OF_ONE
    ]:
        yield f"More than {MANY_OF_ONE} of one company: {', '.join(crowded)}. Tell the company."
    if figures.waited is not None and figures.waited > TOO_LONG:
        minutes = TOO_LONG // timedelta(minutes=1)
        yield f"Mail waits for more than {minutes} minutes: does a worker send, does the server answer?"
