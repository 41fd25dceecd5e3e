"""What repositories ask of the audit trail, which stands above them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Note:
    """What happened, for the end of a chain."""

    chain: str
    event: str
    facts: Mapping[str, object]
    at: datetime


def payer_chain(payer_id: str) -> str:
    """The name of a payer's own trail."""
    return f"@payer:{payer_id}"  # no claim's id begins like this


class Noting(Protocol):
    """Notes what happened at the end of a chain, sealed, in the same transaction."""

    async def add(self, chain: str, event: str, facts: Mapping[str, object], *, now: datetime) -> None:
        """Append what happened."""

    async def add_all(self, notes: Iterable[Note]) -> None:
        """Append several things that happened, each to its chain, in their order."""
