"""Answers that are no: a claim that is not taken in, or something that cannot be asked of one."""

from dataclasses import dataclass
from enum import StrEnum

from domain.errors import Trouble


class RefusalKind(StrEnum):
    """What sort of wrong it is."""

    MALFORMED = "MALFORMED"
    TOO_LARGE = "TOO_LARGE"
    UNPROCESSABLE = "UNPROCESSABLE"
    CONFLICT = "CONFLICT"


@dataclass(frozen=True, slots=True)
class FileFault:
    """One fault of a file: where, and against which rule; never a value. Without a line it is our own."""

    element: str
    rule: str
    line: int | None = None
    guide: int | None = None


class ClaimRefusal(Trouble):  # it is an answer, not a fault
    """What was asked of a claim makes no sense in its state; the text says why and what does."""


class Refusal(Trouble):  # it is an answer, not a fault
    """A claim that is not taken in; `str()` is one line, without a word of the file's content.

    `faults` are all that were found in the file, where its schema is not followed.
    """

    faults: tuple[FileFault, ...] = ()

    def __init__(self, kind: RefusalKind, field: str, problem: str, *, rule: str, remedy: str) -> None:
        super().__init__(f"{field}: {problem} (rule: {rule}). {remedy}")
        self.kind = kind
        self.field = field
        self.rule = rule
        self.remedy = remedy


def malformed(field: str, problem: str, *, rule: str, remedy: str) -> Refusal:
    """The question itself cannot be read."""
    return Refusal(RefusalKind.MALFORMED, field, problem, rule=rule, remedy=remedy)


def unprocessable(field: str, problem: str, *, rule: str, remedy: str) -> Refusal:
    """It can be read, and cannot be sent."""
    return Refusal(RefusalKind.UNPROCESSABLE, field, problem, rule=rule, remedy=remedy)


def conflict(field: str, problem: str, *, rule: str, remedy: str) -> Refusal:
    """Something else stands in its place already."""
    return Refusal(RefusalKind.CONFLICT, field, problem, rule=rule, remedy=remedy)


def too_large(limit: int) -> Refusal:
    """More bytes than we read."""
    return Refusal(
        RefusalKind.TOO_LARGE,
        "file",
        f"it is larger than {limit} bytes",
        rule="CLAIM_MAX_BYTES",
        remedy="Split the batch into smaller ones, or raise the setting.",
    )
