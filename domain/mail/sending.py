"""One attempt to send one mail: what is sent, and what can come of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from domain.mail.codes import MailFailure


@dataclass(frozen=True, slots=True)
class RenderedMail:
    """A mail ready to leave: a text and the same as HTML, for addresses; `date` is when it is sent."""

    outbox_id: str
    message_id: str
    date: datetime
    to: tuple[str, ...]
    subject: str
    text: str
    html: str


@dataclass(frozen=True, slots=True)
class MailSent:
    """The server has taken it."""

    message_id: str


@dataclass(frozen=True, slots=True)
class MailNotSent:
    """It was not taken: the server said so, or there was nobody to say anything."""

    failure: MailFailure


@dataclass(frozen=True, slots=True)
class MailAnswerLost:
    """It left, and nobody knows whether it was taken; sent again it bears the same Message-Id."""

    failure: MailFailure


MailResult = MailSent | MailNotSent | MailAnswerLost


class MailGateway(Protocol):
    """Sends mails; trouble is a result, never an exception."""

    async def send(self, mail: RenderedMail) -> MailResult:
        """Try once."""

    async def close(self) -> None:
        """Let connections go."""
