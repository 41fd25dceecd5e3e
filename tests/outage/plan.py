"""How large the experiment is."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Plan:
    """So many claims, each first sent somewhere in an outage of a payer with so much capacity a minute."""

    claims: int = 500
    outage: timedelta = timedelta(hours=3)
    per_minute: int = 60
    seed: int = 1

    def arrivals(self, start: datetime) -> Sequence[datetime]:
        """When each claim comes in, in order."""
        dice = random.Random(self.seed)  # an experiment's dice, not a secret
        return sorted(start + self.outage * dice.random() for _ in range(self.claims))
