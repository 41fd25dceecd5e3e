"""The spans: of jobs and decisions, of the database, and of messages that start a process."""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace

import grpc
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
)

from bpmn.names import Message, Variable
from domain.decision import Retry
from domain.mail.sending import MailGateway
from domain.observations import ClaimSent, DecisionMade, InputRejected, Observation
from domain.submission import Accepted, PayerGateway, ProtocolMissing
from gateways.tiss.transport import Asking
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.messages import ProcessMessage
from persistence.database.watch import Access
from persistence.encryption.cipher import Cipher
from workers.app.tracing.context import carried, derived, trace_id_of, wanting, written
from workers.app.tracing.gateways import TracedLine, TracedMail, TracedPayer, span_of, telling_error
from workers.app.tracing.job_ids import JobIds, ids_of, told_claim
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Fail, Incident, Outcome, Throw

STARTING = (Message.CLAIM_READY, Message.EMAIL_QUEUED)


class Untraced:
    """Nothing is traced: everything stays as it is, and no variable more is fetched."""

    def handler(self, handler: JobHandler, _cipher: Cipher) -> JobHandler:
        """The handler, in a span."""
        return handler

    def trace_of(self, _job: Job, _ids: JobIds) -> str | None:
        """The job's trace id."""
        return None

    def payer(self, payer: PayerGateway) -> PayerGateway:
        """The gateway, whose sends are spans."""
        return payer

    def line(self, line: Asking, _payer_id: str) -> Asking:
        """The line to a payer, whose exchanges are spans."""
        return line

    def mail(self, mail: MailGateway) -> MailGateway:
        """The gateway, whose sends are spans."""
        return mail

    def commands(self, channel: grpc.aio.Channel, _cipher: Cipher) -> ZeebeCommands:
        """Commands to the engine; processes that they start know their trace."""
        return ZeebeCommands(channel)

    def watch(self, _access: Access) -> AbstractContextManager[object]:
        """The block of an access to the database."""
        return nullcontext()

    def observe(self, _observation: Observation) -> None:
        """Is told what was done."""


@dataclass(frozen=True, slots=True)
class Traced(Untraced):
    """Everything that belongs to a process instance is traced; what belongs to none is not."""

    tracer: Tracer

    def handler(self, handler: JobHandler, cipher: Cipher) -> JobHandler:
        """The handler in a span; the first job that finds no trace context leaves one to its process."""

        async def handle(given: Job) -> Outcome:
            context = carried(given)
            span = self._job_span(handler, given, context, ids_of(given, cipher))
            with _current(span):
                outcome = await handler.handle(_without_context(given))
                _tell_outcome(span, outcome)
            return outcome if context else _carrying(outcome, written(span))

        return replace(handler, variables=(*handler.variables, Variable.TRACEPARENT), handle=handle)

    def trace_of(self, job: Job, ids: JobIds) -> str | None:
        """The job's trace id."""
        return trace_id_of(job, ids)

    def payer(self, payer: PayerGateway) -> PayerGateway:
        """The gateway, whose sends are spans."""
        return TracedPayer(payer, self.tracer)

    def line(self, line: Asking, payer_id: str) -> Asking:
        """The line to a payer, whose exchanges are spans."""
        return TracedLine(line, self.tracer, payer_id)

    def mail(self, mail: MailGateway) -> MailGateway:
        """The gateway, whose sends are spans."""
        return TracedMail(mail, self.tracer)

    def commands(self, channel: grpc.aio.Channel, cipher: Cipher) -> ZeebeCommands:
        """Commands to the engine; processes that they start know their trace."""
        return TracedCommands(channel, self.tracer, cipher)

    def watch(self, access: Access) -> AbstractContextManager[object]:
        """A span, where there is something that it is a part of."""
        if not trace.get_current_span().is_recording():
            return nullcontext()
        return span_of(self.tracer, f"database {access}", {})

    def observe(self, observation: Observation) -> None:
        """A decision is a span; of other things the job's span tells what came of them."""
        match observation:
            case DecisionMade():
                self._decision(observation)
            case ClaimSent():
                _tell_sent(trace.get_current_span(), observation)
            case InputRejected(rule=rule):
                trace.get_current_span().set_attribute("reenvio.rejected_by", rule)
            case _:
                pass

    def _decision(self, made: DecisionMade) -> None:
        ended = time.time_ns()
        began = ended - round(made.seconds * 1e9)
        span = self.tracer.start_span("decision", attributes=_decided(made), start_time=began)
        span.end(ended)

    def _job_span(self, handler: JobHandler, job: Job, context: SpanContext | None, ids: JobIds) -> Span:
        """The job's span, a child of the context that its variables carry, or else the first of its trace."""
        name, attributes = f"job {handler.type}", _attributes(job, ids)
        if context:
            parent = trace.set_span_in_context(NonRecordingSpan(context), Context())
            return self.tracer.start_span(name, parent, SpanKind.CONSUMER, attributes)
        with wanting(derived(ids)):
            return self.tracer.start_span(name, Context(), SpanKind.CONSUMER, attributes)


@contextmanager
def _current(span: Span) -> Iterator[None]:
    """The span is the current one, and ends with the block; of an error its type is told."""
    kept = trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False)
    with kept, telling_error(span):
        yield


class TracedCommands(ZeebeCommands):
    """Gives every process that it asks for a trace context; a claim's trace begins here."""

    def __init__(self, channel: grpc.aio.Channel, tracer: Tracer, cipher: Cipher) -> None:
        super().__init__(channel)
        self._tracer = tracer
        self._cipher = cipher

    async def publish(self, message: ProcessMessage) -> bool:
        """Publish a message, in a span where it starts a process."""
        if message.name not in STARTING:
            return await super().publish(message)
        with self._span(message) as span:
            variables = {**message.variables, Variable.TRACEPARENT: written(span)}
            is_new = await super().publish(replace(message, variables=variables))
            span.set_attribute("reenvio.is_new", is_new)
            return is_new

    @contextmanager
    def _span(self, message: ProcessMessage) -> Iterator[Span]:
        """A claim begins a trace of its own, linked to who asked; a mail goes on in its claim's."""
        is_claim, asking = message.name == Message.CLAIM_READY, trace.get_current_span().get_span_context()
        links = [Link(asking)] if is_claim and asking.is_valid else []
        opened = self._tracer.start_as_current_span(
            message.name,
            Context() if is_claim else None,
            SpanKind.PRODUCER,
            self._about(message),
            links,
            record_exception=False,
            set_status_on_exception=False,
        )
        with opened as span, telling_error(span):
            yield span

    def _about(self, message: ProcessMessage) -> Mapping[str, str]:
        if message.name != Message.CLAIM_READY:
            return {"reenvio.mail.id": message.key}
        claim = told_claim(message.key, self._cipher)
        return {"reenvio.claim.id": claim} if claim else {}


def _without_context(job: Job) -> Job:
    """The job as its handler knows it."""
    if Variable.TRACEPARENT not in job.variables:
        return job
    kept = {name: value for name, value in job.variables.items() if name != Variable.TRACEPARENT}
    return replace(job, variables=kept)


def _carrying(outcome: Outcome, context: str) -> Outcome:
    """The outcome; what goes up to the process brings the context with it."""
    if isinstance(outcome, Complete | Throw):
        return replace(outcome, variables={**outcome.variables, Variable.TRACEPARENT: context})
    return outcome


def _tell_outcome(span: Span, outcome: Outcome) -> None:
    span.set_attribute("reenvio.outcome", type(outcome).__name__.lower())
    if isinstance(outcome, Throw):
        span.set_attribute("reenvio.bpmn_error", outcome.code)
    if isinstance(outcome, Fail | Incident):
        span.set_status(Status(StatusCode.ERROR))


def _tell_sent(span: Span, sent: ClaimSent) -> None:
    settled = sent.settled
    span.set_attribute("reenvio.result", settled.stored_as)
    code = None if isinstance(settled, Accepted | ProtocolMissing) else settled.code
    if code:
        span.set_attribute("reenvio.code", code)


def _attributes(job: Job, ids: JobIds) -> Mapping[str, str | int]:
    claim = {"reenvio.claim.id": ids.claim} if ids.claim else {}
    return claim | {
        "reenvio.job.key": job.key,
        "reenvio.job.type": job.type,
        "reenvio.element.id": job.element_id,
        "reenvio.process_instance.key": job.process_instance_key,
    }


def _decided(made: DecisionMade) -> Mapping[str, str | int]:
    decision = made.decision
    retry = {"reenvio.backoff_minutes": decision.backoff_minutes} if isinstance(decision, Retry) else {}
    return retry | {
        "reenvio.rule": made.profile,
        "reenvio.decision": type(decision).__name__.lower(),
        "reenvio.error.classification": decision.classification.value,
        "reenvio.error.category": decision.finding.category,
        "reenvio.retry_count": decision.retry_count,
    }
