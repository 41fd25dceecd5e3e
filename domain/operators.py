"""Who orders something, and why: texts of people, made fit to be kept."""

from dataclasses import dataclass

from domain.redaction import redact, shorten

REASON_MAX = 500
NAME_MAX = 120


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who asks for something, and why."""

    by: str
    reason: str


def attribution(by: str, reason: str) -> Attribution:
    """The one door for free text of operators: on one line, bounded, without the numbers of persons.

    It is kept with the order and in the claim's journal; the engine never gets it.
    """
    return Attribution(shorten(redact(by).strip(), NAME_MAX), shorten(redact(reason).strip(), REASON_MAX))
