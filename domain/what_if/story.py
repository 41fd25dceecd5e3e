"""One claim while it is played."""

from dataclasses import dataclass, field
from datetime import datetime

from domain.what_if.history import Ending, PastClaim, PlayedClaim


@dataclass(slots=True)
class ClaimStory:
    """One claim as it goes; `turn` counts how often it was given another moment to come."""

    claim: PastClaim
    retry_count: int = 0
    turn: int = 0
    sends: list[datetime] = field(default_factory=list)
    lost_before: bool = False
    unsure: int = 0
    first_failed_at: datetime | None = None
    is_retried: bool = False
    ending: Ending = Ending.RUNNING
    ended_at: datetime | None = None

    def end(self, ending: Ending, at: datetime) -> None:
        """It is over."""
        self.ending, self.ended_at = ending, at

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.ended_at is not None

    def told(self) -> PlayedClaim:
        """What became of it."""
        return PlayedClaim(
            claim_id=self.claim.claim_id,
            payer_id=self.claim.payer_id,
            ending=self.ending,
            sends=tuple(self.sends),
            first_failed_at=self.first_failed_at,
            is_retried=self.is_retried,
            ended_at=self.ended_at,
            unsure=self.unsure,
        )
