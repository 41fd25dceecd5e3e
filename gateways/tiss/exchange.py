"""What may be kept of an exchange for support and audit: structure and codes, no persons."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from lxml import etree

from gateways.tiss.judgement import Broken, Reply
from gateways.tiss.names import local
from gateways.tiss.redaction import personal_values, redacted_xml, without
from gateways.tiss.xml import XmlLimits, XmlRefusedError, parse


@dataclass(frozen=True, slots=True)
class Exchange:
    """One message and what came back, told without personal data."""

    at: datetime
    message: str
    sequence: str
    request: str
    answer: str


ExchangeListener = Callable[[Exchange], None]


def seen(message: etree._Element, reply: Reply, sequence: str, at: datetime) -> Exchange:
    """An exchange without persons: by path, and by the values that the message holds."""
    values = personal_values(message)
    request = without(redacted_xml(message), values)
    return Exchange(at, local(str(message.tag)), sequence, request, describe(reply, values))


def describe(reply: Reply, values: Iterable[str]) -> str:
    """The answer's structure, without texts but codes and numbers, and without the values we sent."""
    if isinstance(reply, Broken):
        return reply.code
    try:
        seen = without(redacted_xml(parse(reply.body, XmlLimits(len(reply.body)))), values)
    except XmlRefusedError as error:
        seen = f"{len(reply.body)} bytes that are not read: {error.problem}"
    return f"HTTP {reply.status}: {seen}"
