"""Orders about many claims at once: what they do, who confirms them, and at which pace they are carried out.

They are carried out claim by claim, each as a person's order of its own; what one claim is refused, the
others are not.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from domain.access import Permission
from domain.errors import Trouble
from domain.reviews import ReviewDecision

MOST_ITEMS = 10_000
"""Claims of one order; more are narrowed down first."""
TAKEN_FOR = timedelta(minutes=2)
"""After so long without a word, an item that somebody had begun is begun again."""


class BulkAction(StrEnum):
    """What may be done to many claims at once."""

    RESEND = "RESEND"
    CORRECTED = "CORRECTED"
    WRITE_OFF = "WRITE_OFF"
    RESOLVE = "RESOLVE"

    @property
    def sends_again(self) -> bool:
        """Whether the claims leave for their payers once more."""
        return self is not BulkAction.WRITE_OFF

    @property
    def decision(self) -> ReviewDecision | None:
        """The decision about each review; none where the claims stand on incidents."""
        return None if self is BulkAction.RESOLVE else ReviewDecision(self.value)


class BulkState(StrEnum):
    """Where an order stands; a proposed one waits for a second person."""

    PROPOSED = "PROPOSED"
    RUNNING = "RUNNING"
    DONE = "DONE"
    WITHDRAWN = "WITHDRAWN"
    STOPPED = "STOPPED"

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self in (BulkState.DONE, BulkState.WITHDRAWN, BulkState.STOPPED)


class BulkItemState(StrEnum):
    """What came of one claim; an unconfirmed one was told, and nobody has seen it go on."""

    PENDING = "PENDING"
    TAKEN = "TAKEN"
    DONE = "DONE"
    UNCONFIRMED = "UNCONFIRMED"
    REFUSED = "REFUSED"
    SKIPPED = "SKIPPED"


class NotDone(StrEnum):
    """Why one claim did not go on."""

    MOVED_ON = "moved_on"
    AT_PAYER = "at_payer"
    ON_INCIDENT = "on_incident"
    PAYER_STOPPED = "payer_stopped"
    REFUSED = "refused"
    STOPPED = "stopped"


NEEDS: Mapping[BulkAction, Permission] = MappingProxyType(
    {
        BulkAction.RESEND: Permission.DECIDE_REVIEWS,
        BulkAction.CORRECTED: Permission.CORRECT_CLAIMS,
        BulkAction.WRITE_OFF: Permission.WRITE_OFF_CLAIMS,
        BulkAction.RESOLVE: Permission.RESOLVE_INCIDENTS,
    }
)
"""Who may order it: what is decided of one claim by whom is decided of many by the same."""


class BulkRefusal(Trouble):
    """An order about many claims that cannot be given; `why` says which rule."""

    def __init__(self, why: str, text: str) -> None:
        super().__init__(text)
        self.why = why


@dataclass(frozen=True, slots=True)
class PacedPayer:
    """When the first claim may go to a payer, and how long after it the next."""

    begins: datetime
    apart: timedelta


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """When each claim's turn is, in their order, and when the last one's."""

    due: tuple[datetime, ...]
    ends: datetime


def planned(payers: Sequence[str], paces: Mapping[str, PacedPayer], now: datetime) -> BulkPlan:
    """Turns by the pace of each payer; a payer without a pace takes its claims at once."""
    numbers: Counter[str] = Counter()
    due = []
    for payer in payers:
        pace = paces.get(payer)
        due.append(pace.begins + numbers[payer] * pace.apart if pace else now)
        numbers[payer] += 1
    return BulkPlan(tuple(due), max(due, default=now))


def set_mark(claim_ids: Collection[str]) -> str:
    """A mark by which the same set of claims is known again."""
    return hashlib.sha256("\n".join(sorted(claim_ids)).encode()).hexdigest()[:32]


def require_second_person(proposed_by: str, login: str) -> None:
    """Refuse that who has proposed an order confirms it."""
    if proposed_by == login:
        raise BulkRefusal("same_person", "A second person confirms it: who has proposed it cannot.")


def require_number(number: int) -> None:
    """Refuse an order about nothing, or about more than one order may be."""
    if not number:
        raise BulkRefusal("none", "No claim is left to which this could be done.")
    if number > MOST_ITEMS:
        raise BulkRefusal("too_many", f"One order is about {MOST_ITEMS} claims at most: narrow it down.")
