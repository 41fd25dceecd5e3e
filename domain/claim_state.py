"""Where a claim stands, as people see it."""

from enum import StrEnum


class ClaimState(StrEnum):
    """The states of a claim; the engine holds the truth, this is its shadow for people."""

    RECEIVED = "RECEIVED"
    SUBMITTING = "SUBMITTING"
    FAILED = "FAILED"
    WAITING = "WAITING"
    IN_REVIEW = "IN_REVIEW"
    ACCEPTED = "ACCEPTED"
    CANCELLED = "CANCELLED"
    WRITTEN_OFF = "WRITTEN_OFF"

    @property
    def is_final(self) -> bool:
        """Whether nothing more will happen to the claim."""
        return self in (ClaimState.ACCEPTED, ClaimState.CANCELLED, ClaimState.WRITTEN_OFF)
