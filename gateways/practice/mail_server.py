"""A real SMTP server for demo and tests: it takes every mail, or does what its script says."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from time import perf_counter
from typing import Literal

from aiosmtpd.smtp import SMTP, AuthCallbackType, Envelope, Session

HOST = "127.0.0.1"
TAKEN = "250 2.0.0 taken"
Stage = Literal["RCPT", "DATA"]


@dataclass(frozen=True, slots=True)
class Reply:
    """The server answers with a line of its own, such as `421 4.3.2 not now`."""

    line: str
    stage: Stage = "RCPT"


@dataclass(frozen=True, slots=True)
class DropMail:
    """The connection ends; at DATA the text has arrived, and is thrown away."""

    stage: Stage = "RCPT"


@dataclass(frozen=True, slots=True)
class StallMail:
    """The server says nothing any more; at DATA the text is thrown away."""

    stage: Stage = "RCPT"


@dataclass(frozen=True, slots=True)
class TakeInSilence:
    """The mail is taken, and the connection ends before anybody is told."""


MailStep = Reply | DropMail | StallMail | TakeInSilence | None
MailScript = Callable[[str, int], MailStep]
"""What happens to an attempt, from 1, to send to an address; None: the mail is taken."""


def takes_all(_address: str, _attempt: int) -> MailStep:
    """The script of a server on a good day."""
    return None


@dataclass(frozen=True, slots=True)
class ArrivedMail:
    """A mail that the server has taken, whether it said so, and when by the process's count of seconds."""

    to: tuple[str, ...]
    content: bytes
    is_answered: bool = True
    at: float = 0.0

    @property
    def message(self) -> EmailMessage:
        """The mail, read."""
        return message_from_bytes(self.content, policy=default)

    @property
    def text(self) -> str:
        """Its words, without the HTML."""
        body = self.message.get_body(("plain",))
        return "" if body is None else str(body.get_content())

    @property
    def message_id(self) -> str:
        """By which a second copy is known."""
        return str(self.message["Message-ID"])


@dataclass(slots=True)
class Mailbox:
    """What has arrived, and how often each address was tried."""

    port: int = 0
    script: MailScript = takes_all
    arrived: list[ArrivedMail] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)
    connections: int = 0

    @property
    def lost_answers(self) -> int:
        """How many answers were lost on purpose."""
        return sum(not mail.is_answered for mail in self.arrived)


@dataclass(frozen=True, slots=True)
class MailServerTerms:
    """How a client has to come: over TLS from the start or by STARTTLS, with a login or without."""

    certificate: ssl.SSLContext | None = None
    tls_at_once: bool = False
    login: AuthCallbackType | None = None


class _Handler:
    """aiosmtpd's hooks, of one connection."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._step: MailStep = None

    async def handle_RCPT(  # noqa: N802  # the names and parameters are aiosmtpd's
        self, server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        self._mailbox.attempts[address] += 1
        self._step = self._mailbox.script(address, self._mailbox.attempts[address])
        if said := await self._act(server, "RCPT"):
            return said
        envelope.rcpt_tos.append(address)
        return TAKEN

    async def handle_DATA(self, server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        if said := await self._act(server, "DATA"):
            return said
        content = envelope.content if isinstance(envelope.content, bytes) else b""
        in_silence = isinstance(self._step, TakeInSilence)
        to, answered = tuple(envelope.rcpt_tos), not in_silence
        self._mailbox.arrived.append(ArrivedMail(to, content, answered, perf_counter()))
        if in_silence:
            _hang_up(server)
        return TAKEN

    async def _act(self, server: SMTP, stage: Stage) -> str | None:
        match self._step:
            case Reply(line, at) if at == stage:
                return line
            case DropMail(at) if at == stage:
                _hang_up(server)
                return TAKEN
            case StallMail(at) if at == stage:
                await asyncio.Event().wait()
        return None


def _hang_up(server: SMTP) -> None:
    if isinstance(server.transport, asyncio.WriteTransport):
        server.transport.abort()


@asynccontextmanager
async def mail_server(mailbox: Mailbox, terms: MailServerTerms | None = None) -> AsyncIterator[Mailbox]:
    """A server on this machine while the block runs; its port is the mailbox's, chosen where it is 0."""
    loop, terms = asyncio.get_running_loop(), terms or MailServerTerms()
    open_connections: set[SMTP] = set()

    def connection() -> SMTP:
        mailbox.connections += 1
        protocol = SMTP(
            _Handler(mailbox),
            hostname="practice",
            loop=loop,
            tls_context=None if terms.tls_at_once else terms.certificate,
            require_starttls=terms.certificate is not None and not terms.tls_at_once,
            auth_required=terms.login is not None and not terms.tls_at_once,
            auth_callback=terms.login,
            auth_require_tls=not terms.tls_at_once,
        )
        open_connections.add(protocol)
        return protocol

    at_once = terms.certificate if terms.tls_at_once else None
    server = await loop.create_server(connection, HOST, mailbox.port, ssl=at_once)
    mailbox.port = server.sockets[0].getsockname()[1]
    try:
        yield mailbox
    finally:
        server.close()
        for protocol in open_connections:
            _hang_up(protocol)
