"""What is wrong with a file that somebody hands in, in words of the screen: line by line, never a value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from domain.refusals import FileFault, Refusal, RefusalKind
from workers.console.words import Words

RULES: Mapping[str, str] = MappingProxyType(
    {
        "the value is too long": "too_long",
        "the value is too short": "too_short",
        "the value has the wrong length": "wrong_length",
        "the value does not have the required form": "wrong_form",
        "the value is not one of the standard's table": "not_in_table",
        "the number has too many digits": "too_many_digits",
        "the number has too many decimal places": "too_many_decimals",
        "the value is not of the required type": "wrong_type",
        "an attribute is not allowed here": "attribute",
        "text is not allowed between the elements": "stray_text",
        "the message is not one of this version": "other_version",
        "it does not follow the schema": "schema",
    }
)
"""What the schemas' checks say, by the name of our words for it."""
_PROBLEMS = MappingProxyType(
    {
        "TISS loteGuias": "no_batch",
        "PAYERS_FILE": "no_payer",
        "cabecalho/destino/registroANS": "other_payer",
        "cabecalho/origem": "no_provider",
        "a claim is sent once": "may_be_there",
        "one batch, one claim": "known_batch",
        "a file is corrected through its review": "not_in_review",
    }
)


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One fault: where, which element, what is wrong."""

    place: str
    element: str
    text: str


def fault_rows(refusal: Refusal, words: Words) -> Sequence[FaultRow]:
    """The faults of the file, line by line."""
    return [FaultRow(_place(fault, words), fault.element, _rule(fault, words)) for fault in refusal.faults]


def problem_of(refusal: Refusal, words: Words) -> str:
    """What is wrong with the file as a whole."""
    if refusal.faults:
        return words("file_problem.faults")
    if refusal.kind is RefusalKind.TOO_LARGE:
        return words("file_problem.too_large")
    if refusal.kind is RefusalKind.MALFORMED:
        return words("file_problem.malformed")
    return words(f"file_problem.{_PROBLEMS.get(refusal.rule, 'other')}")


def _place(fault: FileFault, words: Words) -> str:
    if fault.line is None:
        return words("fault.header")
    line = words("fault.line", n=fault.line)
    return f"{line}, {words('fault.guide', n=fault.guide)}" if fault.guide else line


def _rule(fault: FileFault, words: Words) -> str:
    """One of the table; of an element out of place, with the names that the schema expects."""
    if fault.rule.startswith("a character does not exist"):
        return words("fault.character")
    if fault.rule in RULES:
        return words(f"fault.{RULES[fault.rule]}")
    what, _, expected = fault.rule.partition("; expected is ")
    said = words("fault.missing" if "missing" in what else "fault.out_of_place")
    return f"{said} {words('fault.expected', names=expected)}" if expected else said
