"""Reads XML from strangers: no entities, no DTD, no network; bounded in size, depth and encodings."""

import re
from dataclasses import dataclass
from enum import StrEnum

from lxml import etree

from gateways.tiss.names import INSTANCE

MAX_DEPTH = 64
MAX_TAGS = 500_000
_DECLARED = re.compile(rb"""<\?xml[^>]{0,100}?\bencoding\s*=\s*["']([A-Za-z0-9._\-]{1,40})["']""")
_ENCODINGS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "iso-8859-1": "iso-8859-1",
    "latin1": "iso-8859-1",
    "latin-1": "iso-8859-1",
    "windows-1252": "windows-1252",
    "cp1252": "windows-1252",
}
_LOCATIONS = {f"{{{INSTANCE}}}schemaLocation", f"{{{INSTANCE}}}noNamespaceSchemaLocation"}
_TOO_DEEP = f"boolean({'*/' * (MAX_DEPTH - 1)}*)"


class XmlProblem(StrEnum):
    """Why a document is not read."""

    EMPTY = "it is empty"
    TOO_LARGE = "it is too large"
    TOO_DEEP = "its elements are nested too deeply"
    DOCTYPE = "it carries a document type or entities, which are never read"
    ENCODING = "its encoding is neither UTF-8 nor ISO-8859-1"
    MALFORMED = "it is not well-formed XML"


class XmlRefusedError(Exception):
    """A document that is not read, and why; never a word of its content."""

    def __init__(self, problem: XmlProblem, line: int | None = None) -> None:
        super().__init__(f"{problem}, see line {line}" if line else str(problem))
        self.problem = problem
        self.line = line


@dataclass(frozen=True, slots=True)
class XmlLimits:
    """How large a document may be."""

    max_bytes: int


def parse(data: bytes, limits: XmlLimits) -> etree._Element:
    """The root element; comments, processing instructions and schema locations are left out."""
    text = data.removeprefix(b"\xef\xbb\xbf").strip()
    _check_bytes(text, limits)
    root = _parsed(text, _encoding(text))
    if root.xpath(_TOO_DEEP):
        raise XmlRefusedError(XmlProblem.TOO_DEEP)
    if b"chemaLocation" in text:
        _forget_schema_locations(root)
    return root


def as_text(data: bytes) -> str:
    """A document that was read before, as characters."""
    text = data.removeprefix(b"\xef\xbb\xbf").strip()
    return text.decode(_encoding(text))


def _check_bytes(text: bytes, limits: XmlLimits) -> None:
    if not text:
        raise XmlRefusedError(XmlProblem.EMPTY)
    if len(text) > limits.max_bytes or text.count(b"<") > MAX_TAGS:
        raise XmlRefusedError(XmlProblem.TOO_LARGE)
    if b"\x00" in text or text.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise XmlRefusedError(XmlProblem.ENCODING)
    if not text.startswith(b"<"):
        raise XmlRefusedError(XmlProblem.MALFORMED)
    # every encoding we read writes these in ASCII, so that bytes tell before a parser sees them
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise XmlRefusedError(XmlProblem.DOCTYPE)


def _encoding(text: bytes) -> str:
    """The declared encoding; ISO-8859-1 where the bytes give the declaration the lie."""
    match = _DECLARED.match(text)
    declared = _ENCODINGS.get(match[1].decode("ascii").lower()) if match else "utf-8"
    if declared is None:
        raise XmlRefusedError(XmlProblem.ENCODING)
    try:
        text.decode(declared)
    except UnicodeDecodeError:
        return "iso-8859-1"
    return declared


def _parsed(text: bytes, encoding: str) -> etree._Element:
    parser = etree.XMLParser(
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return etree.fromstring(text, parser)
    except etree.XMLSyntaxError as error:
        raise XmlRefusedError(XmlProblem.MALFORMED, error.lineno) from None


def _forget_schema_locations(root: etree._Element) -> None:
    """A validator would follow these hints, wherever they point."""
    for element in root.iter():
        for name in _LOCATIONS.intersection(element.attrib):
            del element.attrib[name]
