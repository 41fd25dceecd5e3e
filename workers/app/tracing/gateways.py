"""What speaks to the outside, in spans: what was asked of whom, and which kind of answer came."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime

from opentelemetry.trace import Span, SpanKind, Tracer

from domain.mail.sending import MailGateway, MailResult, RenderedMail
from domain.submission import PayerGateway, SendResult, Submission
from gateways.tiss.judgement import Broken, HttpAnswer, Reply, Unread
from gateways.tiss.transport import Asking, Request

Attributes = Mapping[str, str | int]


def span_of(tracer: Tracer, name: str, attributes: Attributes) -> AbstractContextManager[Span]:
    """A part of what runs, done by others for us; of an exception it says nothing, for it may quote data."""
    return tracer.start_as_current_span(
        name, None, SpanKind.CLIENT, attributes, record_exception=False, set_status_on_exception=False
    )


@dataclass(frozen=True, slots=True)
class TracedPayer:
    """Sends claims."""

    payer: PayerGateway
    tracer: Tracer

    async def send(self, submission: Submission, now: datetime, /) -> SendResult:
        """Send once."""
        about: Attributes = {"reenvio.payer": submission.payer_id, "reenvio.attempt": submission.attempt}
        with span_of(self.tracer, "payer send", about) as span:
            result = await self.payer.send(submission, now)
            span.set_attribute("reenvio.answer", type(result).__name__)  # its code is still in others' words
            return result


@dataclass(frozen=True, slots=True)
class TracedLine:
    """Asks one payer."""

    asking: Asking
    tracer: Tracer
    payer_id: str

    async def ask(self, request: Request) -> Reply:
        """Send once."""
        about = {"reenvio.payer": self.payer_id}
        with span_of(self.tracer, "soap exchange", about) as span:
            reply = await self.asking.ask(request)
            if isinstance(reply, HttpAnswer | Unread):
                span.set_attribute("http.response.status_code", reply.status)
            if isinstance(reply, Broken | Unread):
                span.set_attribute("reenvio.code", reply.code)
            return reply


@dataclass(frozen=True, slots=True)
class TracedMail:
    """Sends mails."""

    mail: MailGateway
    tracer: Tracer

    async def send(self, mail: RenderedMail) -> MailResult:
        """Try once."""
        about = {"reenvio.mail.id": mail.outbox_id}
        with span_of(self.tracer, "mail send", about) as span:
            result = await self.mail.send(mail)
            span.set_attribute("reenvio.answer", type(result).__name__)
            return result

    async def close(self) -> None:
        """Let connections go."""
        await self.mail.close()
