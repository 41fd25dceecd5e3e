"""Protocols that are made up for practice: known as such by their own form, which no payer's number has."""

from domain.digits import digits_from

PRACTICE_PREFIX = "PRACTICE:"
MADE_UP = "made up for practice: nothing was sent"
_DIGITS = 12


def practice_protocol(claim_id: str) -> str:
    """The made-up protocol of a claim; a payer's has no colon."""
    return f"{PRACTICE_PREFIX}{digits_from(claim_id, _DIGITS)}"


def is_made_up(protocol: str | None) -> bool:
    """Whether a stored protocol was made up here."""
    return protocol is not None and protocol.startswith(PRACTICE_PREFIX)


def shown_protocol(protocol: str | None) -> str | None:
    """The protocol as people read it."""
    return f"{protocol} ({MADE_UP})" if is_made_up(protocol) else protocol
