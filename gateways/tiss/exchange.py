"""What may be kept of an exchange with a payer, for support: structure and codes, no persons."""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import structlog
from lxml import etree

from gateways.private_folders import private_folder
from gateways.tiss.judgement import Broken, Fenced, Reply, Unread
from gateways.tiss.names import local
from gateways.tiss.redaction import personal_values, redacted_xml, without
from gateways.tiss.xml import XmlLimits, XmlRefusedError, parse

log = structlog.get_logger(__name__)


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
    if isinstance(reply, Fenced):
        return "not sent"
    if isinstance(reply, Unread):
        return f"HTTP {reply.status}: {reply.code}"
    try:
        seen = without(redacted_xml(parse(reply.body, XmlLimits(len(reply.body)))), values)
    except XmlRefusedError as error:
        seen = f"{len(reply.body)} bytes that are not read: {error.problem}"
    return f"HTTP {reply.status}: {seen}"


def trace_into(folder: Path, payer_id: str) -> ExchangeListener:
    """Appends one line of JSON per exchange; the folder is made if it is missing."""
    private_folder(folder)

    def write(exchange: Exchange) -> None:
        try:
            _append(folder / f"{quote(payer_id, safe='')}-{exchange.at:%Y-%m-%d}.jsonl", _line(exchange))
        except OSError as error:  # the answer has come: a full disk must not make it a lost one
            log.warning("payer_trace_failed", payer=payer_id, why=error.strerror)

    return write


def _line(exchange: Exchange) -> bytes:
    fields = asdict(exchange) | {"at": exchange.at.isoformat()}
    return (json.dumps(fields, ensure_ascii=False) + "\n").encode()


def _append(file: Path, line: bytes) -> None:
    opened = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.fchmod(opened, 0o600)  # also where the file was there before
        os.write(opened, line)
    finally:
        os.close(opened)
