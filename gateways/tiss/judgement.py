"""What an answer means for what was asked: structure first, then the HTTP status."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from domain.submission import Accepted, AnswerLost, Duplicate, Failed, Failure, Glosa, SendResult
from gateways.tiss.answers import (
    CancelSaid,
    FaultSaid,
    NothingSaid,
    Reading,
    Receipt,
    RefusalSaid,
    SoapFaultSaid,
    StatusSaid,
    read_answer,
)
from gateways.tiss.faults import NO_SUCH_PROTOCOL, UNNUMBERED, failure, http_failure
from gateways.tiss.lote import Lote
from gateways.tiss.outcomes import (
    Cancellation,
    CancelOutcome,
    CancelStatus,
    ProtocolStatus,
    Situation,
    StatusOutcome,
)
from gateways.tiss.xml import XmlLimits, XmlProblem, XmlRefusedError, parse

AnswerHash = Literal["required", "ignored"]
_STATUSES, _CANCELS = frozenset(ProtocolStatus), frozenset(CancelStatus)
_BY_STATUS_ALONE = {401, 403, 408, 425, 429}
_PROBLEMS = {
    XmlProblem.EMPTY: "NET:EMPTY_BODY",
    XmlProblem.TOO_LARGE: "NET:TOO_LARGE",
    XmlProblem.TOO_DEEP: "NET:UNSAFE_XML",
    XmlProblem.DOCTYPE: "NET:UNSAFE_XML",
    XmlProblem.ENCODING: "NET:ENCODING",
}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer that came whole; `retry_after` is the payer's wish."""

    status: int
    body: bytes
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """No whole answer came: the fault map's code says how far it got."""

    code: str


Reply = HttpAnswer | Broken


def judge_submission(reply: Reply, lote: Lote, trust: AnswerHash = "required") -> SendResult:
    """Accepted only on a whole, undamaged receipt for this very batch on a 2xx."""
    match _said(reply):
        case Receipt() as receipt:
            return _accepted(receipt, lote, trust)
        case Duplicate(of="guide") as known:
            return replace(known, guides=_own(lote, known.guides))
        case StatusSaid() | CancelSaid():
            return failure("NET:NOT_TISS")
        case failed:
            return failed


def judge_status(reply: Reply, protocol: str) -> StatusOutcome:
    """The payer's word on this very protocol; a question may be asked again, nothing is ambiguous."""
    match _said(reply):
        case StatusSaid(status=status) as said if said.protocol == protocol and status in _STATUSES:
            return Situation(ProtocolStatus(status), protocol, said.lote, said.glosas)
        case Receipt() | StatusSaid() | CancelSaid():
            return _repeatable(failure("NET:NOT_TISS"))
        case failed:
            return _repeatable(failed)


def judge_cancel(reply: Reply, number: str) -> CancelOutcome:
    """The payer's word on this very batch."""
    match _said(reply):
        case CancelSaid(status=status, lote=lote) if lote == number and status in _CANCELS:
            return Cancellation(CancelStatus(status), lote)
        case Failed(code=code) if code in NO_SUCH_PROTOCOL:
            return Cancellation(CancelStatus.NO_SUCH_PROTOCOL, number)
        case Receipt() | StatusSaid() | CancelSaid():
            return failure("NET:NOT_TISS")
        case failed:
            return failed


def _said(reply: Reply) -> Receipt | StatusSaid | CancelSaid | Failure:
    if isinstance(reply, Broken):
        return failure(reply.code)
    if reply.status in _BY_STATUS_ALONE:
        return http_failure(reply.status, retry_after=reply.retry_after)
    try:
        reading = read_answer(parse(reply.body, XmlLimits(len(reply.body))))
    except XmlRefusedError as error:
        return _without_words(reply, _problem(error.problem, reply.body))
    return _meaning(reading, reply)


def _meaning(reading: Reading, reply: HttpAnswer) -> Receipt | StatusSaid | CancelSaid | Failure:
    match reading:
        case FaultSaid(word=word):
            return failure(f"FAULT:{word}" if word else "SOAP:Server", retry_after=reply.retry_after)
        case SoapFaultSaid(ours=ours):
            return failure("SOAP:Client" if ours else "SOAP:Server", retry_after=reply.retry_after)
        case RefusalSaid(code=code, guides=guides):
            return _naming(guides, failure(f"TISS:{code}" if code else UNNUMBERED))
        case NothingSaid():
            return _without_words(reply, "NET:NOT_TISS")
        case Receipt() | StatusSaid() | CancelSaid():
            return reading if _is_success(reply) else _without_words(reply, "NET:NOT_TISS")


def _naming(guides: frozenset[str], refusal: Failure) -> Failure:
    match refusal:
        case Duplicate(of="guide"):
            return replace(refusal, guides=tuple(guides))
        case _:
            return refusal


def _without_words(reply: HttpAnswer, code: str) -> Failure:
    """Where the body says nothing, an HTTP error does, and a success is none."""
    if _is_success(reply):
        return failure(code)
    return http_failure(reply.status, retry_after=reply.retry_after)


def _is_success(reply: HttpAnswer) -> bool:
    return 200 <= reply.status < 300


def _problem(problem: XmlProblem, body: bytes) -> str:
    if b"<html" in body[:1_000].lower():
        return "NET:NOT_TISS"
    if problem in _PROBLEMS:
        return _PROBLEMS[problem]
    cut = b"Envelope" in body and not body.rstrip().endswith(b"Envelope>")
    return "NET:TRUNCATED" if cut else "NET:NOT_TISS"


def _accepted(receipt: Receipt, lote: Lote, trust: AnswerHash) -> SendResult:
    if receipt.lote != lote.number:
        return failure("NET:OTHER_BATCH")
    if trust == "required" and not receipt.hash_agrees:
        return _doubtful(receipt)
    return Accepted(receipt.protocol, tuple(_of(lote, glosa) for glosa in receipt.glosas), receipt.total)


def _doubtful(receipt: Receipt) -> Failure:
    doubt = failure("NET:ANSWER_HASH")
    return replace(doubt, claimed_protocol=receipt.protocol) if isinstance(doubt, AnswerLost) else doubt


def _of(lote: Lote, glosa: Glosa) -> Glosa:
    """A guide number that is not ours is the payer's text, and stays outside."""
    return glosa if glosa.guide in lote.guides else replace(glosa, guide=None)


def _own(lote: Lote, named: tuple[str, ...]) -> tuple[str, ...]:
    """The batch's guides that the payer can mean: those it names, or the only one."""
    only_one = len(lote.guides) == 1
    return tuple(guide for guide in lote.guides if guide and (only_one or guide in named))


def _repeatable(failed: Failure) -> Failure:
    if isinstance(failed, AnswerLost):
        return Failed(failed.error, failed.code, failed.retry_after, failed.payer_down)
    return failed
