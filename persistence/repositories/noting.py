"""What repositories ask of the audit trail, which stands above them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol


class Noting(Protocol):
    """Notes what happened at the end of a chain, sealed, in the same transaction."""

    async def add(self, chain: str, event: str, facts: Mapping[str, object], *, now: datetime) -> None:
        """Append what happened."""
