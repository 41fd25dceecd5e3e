"""Where a claim stands, as people see it, and what may become of it."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Literal


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
        return self in ENDS

    def may_become(self, other: "ClaimState") -> bool:
        """Whether the other state may follow this one while no new send begins."""
        return other in FOLLOWS[self]


SendBeginning = Literal[ClaimState.SUBMITTING, ClaimState.WAITING, ClaimState.FAILED]
"""What a job that is to send a claim makes of it first: sent, held, or given up for its deadline.

It looks under the claim's lock whether it may (`domain.permission`): no end is left this way. All other
writers keep to the table below.
"""

ENDS = frozenset({ClaimState.ACCEPTED, ClaimState.CANCELLED, ClaimState.WRITTEN_OFF})
_TRIED = frozenset({ClaimState.WAITING, ClaimState.FAILED, ClaimState.IN_REVIEW}) | ENDS

FOLLOWS: Mapping[ClaimState, frozenset[ClaimState]] = MappingProxyType(
    {
        ClaimState.RECEIVED: _TRIED,
        ClaimState.SUBMITTING: _TRIED | {ClaimState.SUBMITTING},
        ClaimState.FAILED: _TRIED,
        ClaimState.WAITING: _TRIED,
        ClaimState.IN_REVIEW: frozenset({ClaimState.WAITING, ClaimState.IN_REVIEW}),
        ClaimState.ACCEPTED: frozenset({ClaimState.IN_REVIEW}),
        ClaimState.CANCELLED: frozenset({ClaimState.IN_REVIEW, ClaimState.ACCEPTED}),
        ClaimState.WRITTEN_OFF: frozenset({ClaimState.IN_REVIEW, ClaimState.ACCEPTED}),
    }
)
"""What may follow what, by an answer, a decision or a review.

An answer that comes late takes no claim away from a person and undoes no end, but that a payer has taken a
claim is a fact, whoever had given it up. A model that sends by itself may let a claim wait after its review.
A review may be opened for every claim: each is opened once, and its process waits for the person.
"""
CLOSABLE = frozenset(ClaimState) - ENDS
"""Where a person may end a claim."""


def predecessors(state: ClaimState) -> frozenset[ClaimState]:
    """The states that this one may follow."""
    return frozenset(earlier for earlier in ClaimState if earlier.may_become(state))
