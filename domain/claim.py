"""The claim's identity, as the hospital writes it."""

import re
from dataclasses import dataclass
from enum import StrEnum

from domain.check_digits import holds_personal

CLAIM_ID_MAX = 100
CLAIM_ID_SHAPE = "CLM-<text>-<digits>"
CLAIM_ID_PATTERN = r"CLM-[A-Za-z0-9._\-]+-[0-9]+"
_CLAIM_ID = re.compile(CLAIM_ID_PATTERN, re.ASCII)
_REFERENCE = re.compile(r"(?=.*[0-9])[A-Za-z0-9][A-Za-z0-9._:/\-]*")


class ClaimIdForm(StrEnum):
    """Which form a claim's id has: the hospital's own, or a reference that another process uses."""

    CLM = "clm"
    REFERENCE = "reference"

    @property
    def asked(self) -> str:
        """What an id of this form looks like, for people."""
        if self is ClaimIdForm.CLM:
            return f"a claim id looks like {CLAIM_ID_SHAPE}, at most {CLAIM_ID_MAX} letters, digits and . _ -"
        letters = f"at most {CLAIM_ID_MAX} letters, digits and . _ : / -"
        return f"a reference is {letters}, with a digit in it, and no CPF or CNS"

    def fits(self, text: str) -> bool:
        """Say whether the text has this form."""
        return is_claim_id(text) if self is ClaimIdForm.CLM else is_reference(text)


@dataclass(frozen=True, slots=True)
class ClaimId:
    """A claim's identifier, such as `CLM-ENC-001-1234567890`; what has another form is a ValueError."""

    value: str
    form: ClaimIdForm = ClaimIdForm.CLM

    def __post_init__(self) -> None:
        if not self.form.fits(self.value):
            raise ValueError(self.form.asked)

    def __str__(self) -> str:
        return self.value


def is_claim_id(text: str) -> bool:
    """Say whether the text has the shape of a claim id: ASCII, bounded, `CLM-<text>-<digits>`."""
    return len(text) <= CLAIM_ID_MAX and _CLAIM_ID.fullmatch(text) is not None


def is_reference(text: str) -> bool:
    """Say whether the text may stand in the engine and in logs as another process's reference to a claim."""
    return len(text) <= CLAIM_ID_MAX and _REFERENCE.fullmatch(text) is not None and not holds_personal(text)
