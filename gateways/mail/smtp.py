"""SMTP: connections that are used again, one deadline for each attempt, and results instead of exceptions."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

from aiosmtplib import (
    SMTP,
    SMTPConnectError,
    SMTPException,
    SMTPNotSupported,
    SMTPResponseException,
    SMTPTimeoutError,
)

from domain.mail.codes import FailureKind, MailFailure, OwnCode, smtp_failure
from domain.mail.sending import MailAnswerLost, MailNotSent, MailResult, MailSent, RenderedMail
from gateways.mail.message import message_bytes

Security = Literal["starttls", "tls", "none"]
TROUBLE = (SMTPException, OSError, TimeoutError)
"""What an attempt may meet; ssl.SSLError is an OSError."""
REFUSALS = range(400, 600)
LOGIN_PAUSE_SECONDS = 600.0
"""So long nobody logs in again here after a refusal; whoever mends the password starts the worker anew."""
IDLE_SECONDS = 30.0
"""Shorter than the time after which servers close what nobody uses."""


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """Where mail is handed over, and as whom; `seconds` is all the time that one attempt has."""

    host: str
    port: int
    sender: str
    security: Security = "starttls"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    seconds: float = 20.0
    connections: int = 5
    trusted: ssl.SSLContext | None = None

    def client(self) -> SMTP:
        """A client that is not connected yet."""
        return SMTP(
            hostname=self.host,
            port=self.port,
            username=self.username,
            password=self.password,
            local_hostname=self.sender.rpartition("@")[2],
            timeout=self.seconds,
            use_tls=self.security == "tls",
            start_tls=self.security == "starttls",
            tls_context=None if self.security == "none" else self.trusted,
        )


@dataclass(slots=True)
class _Attempt:
    """How far an attempt has come: once the text is on its way, silence may mean that it was taken."""

    is_leaving: bool = False


class SmtpMail:
    """Hands mail over to one server."""

    def __init__(self, server: SmtpServer) -> None:
        self._server = server
        self._idle: list[tuple[SMTP, float]] = []
        self._refused: tuple[MailFailure, float] | None = None

    async def send(self, mail: RenderedMail) -> MailResult:
        """Try once; all recipients are taken, or none gets it."""
        if refused := self._refused_before():
            return MailNotSent(refused)
        attempt = _Attempt()
        try:
            async with asyncio.timeout(self._server.seconds), self._connected() as client:
                await self._hand_over(client, mail, attempt)
        except TROUBLE as error:
            return self._noted(_result(error, attempt))
        return MailSent(mail.message_id)

    def _refused_before(self) -> MailFailure | None:
        """Why our login was refused a while ago: asked again for each mail, servers lock accounts."""
        if self._refused is None or _seconds() >= self._refused[1]:
            return None
        return self._refused[0]

    def _noted(self, result: MailNotSent | MailAnswerLost) -> MailNotSent | MailAnswerLost:
        if result.failure.kind is FailureKind.OURS:
            self._refused = replace(result.failure, said=""), _seconds() + LOGIN_PAUSE_SECONDS
        return result

    async def close(self) -> None:
        """Let go of what is open."""
        while self._idle:
            self._idle.pop()[0].close()

    async def _hand_over(self, client: SMTP, mail: RenderedMail, attempt: _Attempt) -> None:
        data = message_bytes(mail, self._server.sender)
        await client.mail(self._server.sender)
        for address in mail.to:
            await client.rcpt(address)
        attempt.is_leaving = True
        await client.data(data)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[SMTP]:
        """A connection; one whose attempt did not end well is not used again."""
        client = await self._known_to_answer() or await self._connect()
        try:
            yield client
        except BaseException:
            client.close()
            raise
        self._keep(client)

    async def _known_to_answer(self) -> SMTP | None:
        """A connection from before that the server has not closed meanwhile: that costs no attempt."""
        while self._idle:
            client, since = self._idle.pop()
            try:
                if _seconds() - since < IDLE_SECONDS:
                    await client.rset()
                    return client
            except (SMTPException, OSError):
                pass
            except BaseException:
                client.close()
                raise
            client.close()
        return None

    async def _connect(self) -> SMTP:
        client = self._server.client()
        await client.connect()
        return client

    def _keep(self, client: SMTP) -> None:
        if len(self._idle) < self._server.connections:
            self._idle.append((client, _seconds()))
        else:
            client.close()


def _seconds() -> float:
    return asyncio.get_running_loop().time()


def _result(error: Exception, attempt: _Attempt) -> MailNotSent | MailAnswerLost:
    if isinstance(error, SMTPResponseException):
        return _answered(error, attempt)
    if attempt.is_leaving:
        return MailAnswerLost(MailFailure(OwnCode.ANSWER_LOST, said=str(error)))
    return MailNotSent(MailFailure(_own_code(error), said=str(error)))


def _answered(error: SMTPResponseException, attempt: _Attempt) -> MailNotSent | MailAnswerLost:
    """A no is a no; what says neither yes nor no of a text that is on its way leaves it open."""
    if error.code in REFUSALS:
        return MailNotSent(smtp_failure(error.code, error.message))
    if attempt.is_leaving:
        return MailAnswerLost(MailFailure(OwnCode.ANSWER_LOST, said=error.message))
    return MailNotSent(MailFailure(OwnCode.ODD_ANSWER, said=error.message))


def _own_code(error: Exception) -> OwnCode:
    """Of trouble that no reply came with."""
    if isinstance(error, ssl.SSLError) or isinstance(error.__cause__, ssl.SSLError) or _lacks_tls(error):
        return OwnCode.TLS_FAILED
    if isinstance(error, SMTPTimeoutError | TimeoutError):
        return OwnCode.TIMEOUT
    if isinstance(error, SMTPConnectError):
        return OwnCode.CONNECTION_FAILED
    return OwnCode.CONNECTION_LOST


def _lacks_tls(error: Exception) -> bool:
    """Whether the server does not offer what was asked for, which the library says in words alone."""
    return isinstance(error, SMTPNotSupported) or (type(error) is SMTPException and "STARTTLS" in str(error))
