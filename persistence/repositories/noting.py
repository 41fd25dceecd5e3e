"""What repositories ask of the audit trail, which stands above them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol


def payer_chain(payer_id: str) -> str:
    """The name of a payer's own trail."""
    return f"@payer:{payer_id}"  # no claim's id begins like this


class Noting(Protocol):
    """Notes what happened at the end of a chain, sealed, in the same transaction."""

    async def add(self, chain: str, event: str, facts: Mapping[str, object], *, now: datetime) -> None:
        """Append what happened."""
