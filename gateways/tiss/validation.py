"""Checks messages against the official schemas and says line, element and rule, never a value."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import cast

from lxml import etree

from gateways.tiss.names import Encoding, Version, ans, local

_FOLDER = Path(__file__).parent / "schemas"
_MOST = 20
_LISTED = 5
_CHUNK = 65_536
_COMPILING = threading.Lock()  # libxml2 makes its built-in types with the first schema, without a lock
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
_ANY_RULE = "it does not follow the schema"
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
    """The official schemas, each loaded when it is first needed, and by each thread for itself."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def violations(self, message: etree._Element, version: Version) -> tuple[Violation, ...]:
        """What the schema of this version has against the message; the first twenty faults.

        The message is written out and read through the schema, since that can stop: a validator of trees
        goes on to the last fault, and counts all siblings of each to say where it stands.
        """
        schema, written = self._schema(version), etree.tostring(message, encoding="utf-8")
        return () if _is_valid(schema, written) else _violations(schema, written, message)

    def load(self, versions: Iterable[Version]) -> None:
        """Load schemas for this thread now, rather than when they are first needed."""
        for version in versions:
            self._schema(version)

    def _schema(self, version: Version) -> etree.XMLSchema:
        loaded: dict[str, etree.XMLSchema] = self._of_thread.__dict__
        if version not in loaded:
            entry = f"tissWebServicesV{version.replace('.', '_')}.xsd"
            with _COMPILING:
                loaded[version] = etree.XMLSchema(file=str(_FOLDER / version / entry))
        return loaded[version]


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


class _EnoughError(Exception):
    """As many faults were found as are told."""


class _Finder:
    """Is called for every element's start and end while a document is read through a schema.

    The schema looks at each after us: what is new in its log belongs to the element we were called for last.
    """

    def __init__(self, schema: etree.XMLSchema) -> None:
        self.faults: dict[int, etree._LogEntry] = {}
        self.reader = _reader(schema, target=self)
        self._open: list[int] = []
        self._count = self._last = self._seen = 0

    def start(self, _tag: str, _attributes: Mapping[str, str]) -> None:
        self.note()
        self._open.append(self._count)
        self._last = self._count
        self._count += 1

    def end(self, _tag: str) -> None:
        self.note()
        self._last = self._open.pop()

    def note(self) -> None:
        """One bad value is reported two or three times, the first report is the precise one."""
        for entry in islice(_log(self.reader), self._seen, None):
            self._seen += 1
            self.faults.setdefault(self._last, entry)
        if len(self.faults) >= _MOST:
            raise _EnoughError

    def close(self) -> None:
        """Nothing is built."""


def _reader(schema: etree.XMLSchema, target: _Finder | None = None) -> etree.XMLParser:
    told = cast("etree.ParserTarget | None", target)
    return etree.XMLParser(schema=schema, target=told, resolve_entities=False, no_network=True)


def _log(reader: etree.XMLParser) -> Sequence[etree._LogEntry]:
    return cast("Sequence[etree._LogEntry]", reader.feed_error_log.filter_from_errors())


def _is_valid(schema: etree.XMLSchema, written: bytes) -> bool:
    reader = _reader(schema)
    try:
        for start in range(0, len(written), _CHUNK):
            reader.feed(written[start : start + _CHUNK])
            if len(_log(reader)):
                return False
        reader.close()
    except etree.XMLSyntaxError:
        return False
    return True


def _violations(schema: etree.XMLSchema, written: bytes, message: etree._Element) -> tuple[Violation, ...]:
    finder = _Finder(schema)
    with suppress(_EnoughError, etree.XMLSyntaxError):
        finder.reader.feed(written)
        finder.reader.close()
    with suppress(_EnoughError):
        finder.note()
    elements = islice(message.iter("*"), max(finder.faults, default=0) + 1)
    places = {number: element for number, element in enumerate(elements) if number in finder.faults}
    found = tuple(_violation(finder.faults[number], place) for number, place in places.items())
    return found or (Violation(local(str(message.tag)), _ANY_RULE),)


def _violation(entry: etree._LogEntry, element: etree._Element) -> Violation:
    return Violation(local(str(element.tag)), _rule(entry), _line(element), _guide(element))


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
    return _RULES.get(entry.type_name, _ANY_RULE)


def _expectation(message: str) -> str:
    """Element names only: the schema's, and never a value."""
    missing = "Missing child element" in message
    _, found, names = message.partition("Expected is")
    first = "an element is missing after its last one" if missing else "it is not expected here"
    expected = names.replace("( ", "").replace(" )", "").replace("one of", "").strip(" .\n")
    listed = ", ".join(local(name.strip()) for name in expected.split(","))
    return f"{first}; expected is {listed}" if found else first
