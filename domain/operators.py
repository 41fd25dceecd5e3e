"""Who orders something, and why: texts of people, made fit to be kept."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from domain.claim_state import ClaimState
from domain.redaction import redact, shorten
from domain.reviews import ReviewDecision

REASON_MAX = 500
NAME_MAX = 120
CANCEL = "cancel"
_CASE = re.compile(r"(?<!\d)(\d{7}-\d\d\.\d{4}\.\d\.\d\d\.\d{4})(?!\d)")


def review_action(decision: ReviewDecision, *, unchecked: bool = False) -> str:
    """What an order that decides a review is called on record."""
    return f"review {decision}{' unchecked' if unchecked else ''}"


ENDED_BY: Mapping[ClaimState, frozenset[str]] = {
    ClaimState.CANCELLED: frozenset({CANCEL}),
    ClaimState.WRITTEN_OFF: frozenset({review_action(ReviewDecision.WRITE_OFF)}),
    ClaimState.ACCEPTED: frozenset(
        review_action(ReviewDecision.PROTOCOL_RECOVERED, unchecked=unchecked) for unchecked in (True, False)
    ),
}
"""The orders by which a person ends a claim, by what it ends as."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who asks for something, and why; made by `attribution`."""

    by: str
    reason: str


def attribution(by: str, reason: str) -> Attribution:
    """Who and why as they may be kept with an order and in the claim's journal; the engine gets neither."""
    return Attribution(operator_text(by, NAME_MAX), operator_text(reason, REASON_MAX))


def operator_text(text: str, limit: int = REASON_MAX) -> str:
    """The one door for what operators write: on one line, bounded, without the numbers of persons.

    The numbers that Brazilian courts give their cases stay.
    """
    parts = (part if _CASE.fullmatch(part) else redact(part) for part in _CASE.split(text))
    return shorten("".join(parts).strip(), limit)
