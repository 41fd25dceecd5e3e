"""What the domain asks of the outside, as protocols."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time that the process engine lives in."""

    async def now(self) -> datetime:
        """The present moment, aware, in UTC."""
