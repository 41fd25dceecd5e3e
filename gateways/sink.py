"""Where events go when they leave us: the port that Redis and the local file both fill."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from domain.errors import Trouble

SCHEMA_VERSION = "1"
"""Of the schemas of all events: another when a field goes or means something else."""


class SinkError(Trouble):
    """Events could not be handed over; the text says why and what to look at. Trying again may help."""


@dataclass(frozen=True, slots=True)
class OutgoingEvent:
    """One event as others see it; the same `event_id` is the same event, however often it arrives."""

    event_id: str
    claim_id: str
    type: str
    payload: str
    created_at: datetime

    def fields(self) -> dict[str, str]:
        """Plain names and texts."""
        return {
            "eventId": self.event_id,
            "type": self.type,
            "claimId": self.claim_id,
            "occurredAt": self.created_at.isoformat(timespec="milliseconds"),
            "payload": self.payload,
            "schemaVersion": SCHEMA_VERSION,
        }


class EventSink(Protocol):
    """Takes events in order, all of a batch or, after an error, perhaps some."""

    async def send(self, events: Sequence[OutgoingEvent]) -> None:
        """Hand the events over durably; SinkError when that is not certain."""
        ...

    async def close(self) -> None:
        """Let go of what is open."""
        ...
