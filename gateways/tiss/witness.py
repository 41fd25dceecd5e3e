"""What may be kept of an exchange for support and audit: structure and codes, no persons."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gateways.tiss.judgement import Broken, Reply
from gateways.tiss.redaction import redacted_xml, without
from gateways.tiss.xml import Limits, XmlRefusedError, parse


@dataclass(frozen=True, slots=True)
class Exchange:
    """One message and what came back, told without personal data."""

    message: str
    sequence: str
    answer: str


Witness = Callable[[Exchange], None]


def describe(reply: Reply, values: Iterable[str]) -> str:
    """The answer's structure, without texts but codes and numbers, and without the values we sent."""
    if isinstance(reply, Broken):
        return reply.code
    try:
        seen = without(redacted_xml(parse(reply.body, Limits(len(reply.body)))), values)
    except XmlRefusedError as error:
        seen = f"{len(reply.body)} bytes that are not read: {error.problem}"
    return f"HTTP {reply.status}: {seen}"
