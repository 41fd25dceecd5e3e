"""What speaks to the outside, in spans: what was asked of whom, and which kind of answer came."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from domain.mail.sending import MailGateway, MailResult, MailSent, RenderedMail
from domain.submission import Accepted, Duplicate, PayerGateway, SendResult, Submission
from gateways.tiss.judgement import Broken, HttpAnswer, Reply, Unread
from gateways.tiss.transport import Asking, Request

Attributes = Mapping[str, str | int]
ERROR_STATUS = 400


@contextmanager
def span_of(tracer: Tracer, name: str, attributes: Attributes) -> Iterator[Span]:
    """A part of what runs, done by others for us."""
    with (
        tracer.start_as_current_span(
            name, None, SpanKind.CLIENT, attributes, record_exception=False, set_status_on_exception=False
        ) as span,
        telling_error(span),
    ):
        yield span


@contextmanager
def telling_error(span: Span) -> Iterator[None]:
    """What breaks in the block marks the span, by its type alone: its text may quote data."""
    try:
        yield
    except BaseException as error:
        mark_failed(span, type(error).__name__)
        raise


def mark_failed(span: Span, kind: str) -> None:
    """The span failed; `kind` is a type or a code of ours, never anybody's words."""
    span.set_status(Status(StatusCode.ERROR, kind))


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
            kind = type(result).__name__  # its code is still in others' words
            span.set_attribute("reenvio.answer", kind)
            if not isinstance(result, Accepted | Duplicate):
                mark_failed(span, kind)
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
            _tell_reply(span, reply)
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
            if not isinstance(result, MailSent):
                span.set_attribute("reenvio.code", result.failure.code)
                mark_failed(span, result.failure.code)
            return result

    async def close(self) -> None:
        """Let connections go."""
        await self.mail.close()


def _tell_reply(span: Span, reply: Reply) -> None:
    if isinstance(reply, HttpAnswer | Unread):
        span.set_attribute("http.response.status_code", reply.status)
        if reply.status >= ERROR_STATUS:
            mark_failed(span, f"HTTP:{reply.status}")
    if isinstance(reply, Broken | Unread):
        span.set_attribute("reenvio.code", reply.code)
        mark_failed(span, reply.code)
