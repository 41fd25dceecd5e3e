"""Checks messages against the official schemas and says line, element and rule, never a value."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import cast

from lxml import etree

from gateways.tiss.names import ANS, Encoding, Version, ans, local

_FOLDER = Path(__file__).parent / "schemas"
_MOST = 20
_LISTED = 5
_RULES = {
    "SCHEMAV_CVC_MAXLENGTH_VALID": "the value is too long",
    "SCHEMAV_CVC_MINLENGTH_VALID": "the value is too short",
    "SCHEMAV_CVC_LENGTH_VALID": "the value has the wrong length",
    "SCHEMAV_CVC_PATTERN_VALID": "the value does not have the required form",
    "SCHEMAV_CVC_ENUMERATION_VALID": "the value is not one of the standard's table",
    "SCHEMAV_CVC_TOTALDIGITS_VALID": "the number has too many digits",
    "SCHEMAV_CVC_FRACTIONDIGITS_VALID": "the number has too many decimal places",
    "SCHEMAV_CVC_DATATYPE_VALID_1_2_1": "the value is not of the required type",
    "SCHEMAV_CVC_COMPLEX_TYPE_3_2_1": "an attribute is not allowed here",
    "SCHEMAV_CVC_TYPE_3_1_1": "an attribute is not allowed here",
    "SCHEMAV_CVC_COMPLEX_TYPE_2_3": "text is not allowed between the elements",
    "SCHEMAV_CVC_ELT_1": "the message is not one of this version",
}
_NAMED = re.compile(r"Element '([^']{1,200})'")
_OUT_OF_PLACE = "SCHEMAV_ELEMENT_CONTENT"


@dataclass(frozen=True, slots=True)
class Violation:
    """One fault of a message; without a line it lies in what we built from the payer's settings."""

    element: str
    rule: str
    line: int | None = None
    guide: int | None = None

    def __str__(self) -> str:
        place = f"line {self.line}" if self.line else "header (see the payer's settings)"
        guide = f", guide {self.guide}" if self.guide else ""
        return f"{place}{guide}, {self.element}: {self.rule}"


def listed(violations: tuple[Violation, ...]) -> str:
    """The first violations in words, and how many more there are."""
    more = len(violations) - _LISTED
    shown = "; ".join(map(str, violations[:_LISTED]))
    return f"{shown}; and {more} more" if more > 0 else shown


class Schemas:
    """The official schemas, each loaded when it is first needed."""

    def __init__(self) -> None:
        self._loaded: dict[Version, etree.XMLSchema] = {}

    def violations(self, message: etree._Element, version: Version) -> tuple[Violation, ...]:
        """What the schema of this version has against the message; the first twenty faults."""
        schema = self._schema(version)
        if schema.validate(message):
            return ()
        return _violations(schema, message)

    def _schema(self, version: Version) -> etree.XMLSchema:
        if version not in self._loaded:
            entry = f"tissWebServicesV{version.replace('.', '_')}.xsd"
            self._loaded[version] = etree.XMLSchema(file=str(_FOLDER / version / entry))
        return self._loaded[version]


def unwritable(message: etree._Element, encoding: Encoding) -> tuple[Violation, ...]:
    """The values that cannot be written in the encoding the payer reads."""
    rule = f"a character does not exist in {encoding.upper()}; correct it, or set ascii_text for this payer"
    bad = (element for element in message.iter() if not _fits(element.text or "", encoding))
    return tuple(Violation(local(str(e.tag)), rule, _line(e), _guide(e)) for e in islice(bad, _MOST))


def _line(element: etree._Element) -> int | None:
    line: object = element.sourceline
    return line if isinstance(line, int) else None


def _fits(text: str, encoding: Encoding) -> bool:
    if text.isascii():
        return True
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _violations(schema: etree.XMLSchema, message: etree._Element) -> tuple[Violation, ...]:
    found: dict[str, Violation] = {}
    entries: Iterable[etree._LogEntry] = list(cast("Iterable[etree._LogEntry]", schema.error_log))
    for entry in entries:
        # one bad value is reported two or three times, the first report is the precise one
        found.setdefault(entry.path or str(entry.line), _violation(entry, message))
        if len(found) == _MOST:
            break
    return tuple(found.values())


def _violation(entry: etree._LogEntry, message: etree._Element) -> Violation:
    named = _NAMED.match(entry.message or "")
    name = local(named[1]) if named else local(str(message.tag))
    return Violation(name, _rule(entry), entry.line or None, _guide(_element(message, entry.path)))


def _element(message: etree._Element, path: str | None) -> etree._Element | None:
    below = (path or "").lstrip("/").partition("/")[2]
    try:
        found = message.xpath(f"./{below}", namespaces={"ans": ANS}) if below else None
    except etree.XPathEvalError:  # a prefix of the file's own
        return None
    return found[0] if isinstance(found, list) and found and isinstance(found[0], etree._Element) else None


def _guide(element: etree._Element | None) -> int | None:
    while element is not None:
        parent = element.getparent()
        if parent is not None and parent.tag == ans("guiasTISS"):
            return parent.index(element) + 1
        element = parent
    return None


def _rule(entry: etree._LogEntry) -> str:
    if entry.type_name == _OUT_OF_PLACE:
        return _expectation(entry.message or "")
    return _RULES.get(entry.type_name, "it does not follow the schema")


def _expectation(message: str) -> str:
    """Element names only: the schema's, and never a value."""
    missing = "Missing child element" in message
    _, found, names = message.partition("Expected is")
    first = "an element is missing after its last one" if missing else "it is not expected here"
    expected = names.replace("( ", "").replace(" )", "").replace("one of", "").strip(" .\n")
    listed = ", ".join(local(name.strip()) for name in expected.split(","))
    return f"{first}; expected is {listed}" if found else first
