"""Who orders something, and why: texts of people, made fit to be kept."""

import re
from dataclasses import dataclass

from domain.redaction import redact, shorten

REASON_MAX = 500
NAME_MAX = 120
_CASE = re.compile(r"(?<!\d)(\d{7}-\d\d\.\d{4}\.\d\.\d\d\.\d{4})(?!\d)")


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
