"""The claim's identity, as the hospital writes it."""

import re
from dataclasses import dataclass

CLAIM_ID_MAX = 100
CLAIM_ID_SHAPE = "CLM-<text>-<digits>"
_CLAIM_ID = re.compile(r"CLM-.+-[0-9]+")


@dataclass(frozen=True, slots=True)
class ClaimId:
    """A claim's identifier, such as `CLM-ENC-001-1234567890`; anything else is a ValueError."""

    value: str

    def __post_init__(self) -> None:
        if not is_claim_id(self.value):
            raise ValueError(f"a claim id looks like {CLAIM_ID_SHAPE}, at most {CLAIM_ID_MAX} characters")

    def __str__(self) -> str:
        return self.value


def is_claim_id(text: str) -> bool:
    """Say whether the text has the shape of a claim id: printable, bounded, `CLM-<text>-<digits>`."""
    return len(text) <= CLAIM_ID_MAX and text.isprintable() and _CLAIM_ID.fullmatch(text) is not None
