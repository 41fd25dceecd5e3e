"""What an answer means for what was asked: structure first, then the HTTP status."""

from dataclasses import dataclass, replace
from datetime import timedelta

from domain.own_words import OwnWords
from domain.submission import (
    Accepted,
    AccessDenied,
    AnswerLost,
    Duplicate,
    Failed,
    Failure,
    Glosa,
    OwnTrouble,
    SendResult,
)
from gateways.tiss.answers import (
    CancelSaid,
    Complaint,
    Contradiction,
    FaultSaid,
    Reading,
    Receipt,
    RefusalSaid,
    SoapFaultSaid,
    StatusSaid,
    read_answer,
)
from gateways.tiss.faults import NO_SUCH_PROTOCOL, UNNUMBERED, failure, http_failure
from gateways.tiss.lote import Lote
from gateways.tiss.names import AnswerHash
from gateways.tiss.outcomes import (
    Cancellation,
    CancelOutcome,
    CancelStatus,
    ProtocolStatus,
    Situation,
    StatusOutcome,
)
from gateways.tiss.xml import XmlLimits, XmlProblem, XmlRefusedError, parse

_STATUSES, _CANCELS = frozenset(ProtocolStatus), frozenset(CancelStatus)
_BY_STATUS_ALONE = {401, 403, 408, 425, 429}
_BY_FIREWALL = " with a web page, as firewalls answer"
_PROBLEMS = {
    XmlProblem.EMPTY: "NET:EMPTY_BODY",
    XmlProblem.TOO_LARGE: "NET:TOO_LARGE",
    XmlProblem.TOO_DEEP: "NET:UNSAFE_XML",
    XmlProblem.DOCTYPE: "NET:UNSAFE_XML",
    XmlProblem.ENCODING: "NET:ENCODING",
}

_NOT_READ_WHOLE = frozenset({"NET:TRUNCATED", "NET:TOO_LARGE", "NET:UNSAFE_XML", "NET:ENCODING"})


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


@dataclass(frozen=True, slots=True)
class Unread:
    """An HTTP error of whose body a part was not read: `code` says why.

    The status speaks of the payer; what the part said of the batch nobody knows.
    """

    status: int
    code: str
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Fenced:
    """Nothing left: the fence before the payer found that the send is ours no more."""


Reply = HttpAnswer | Broken | Unread | Fenced
NOT_OURS = OwnTrouble(
    OwnWords("TEMPORARY_ERROR - the send is not ours any more, or its time is nearly over: nothing left")
)


@dataclass(frozen=True, slots=True)
class _Disputed:
    """A receipt that the rest of the answer denies, and what that says without it."""

    receipt: Receipt
    denial: Failure


@dataclass(frozen=True, slots=True)
class _Unheard:
    """An answer that was not read whole, and what its HTTP status says."""

    doubt: AnswerLost
    denial: Failure


_Said = Receipt | StatusSaid | CancelSaid | _Disputed | _Unheard | Failure


def judge_submission(reply: Reply, lote: Lote, trust: AnswerHash = "required") -> SendResult:
    """Accepted only on a whole, undamaged receipt for this very batch on a 2xx, and nothing beside it."""
    match _said(reply):
        case Receipt() as receipt:
            return _accepted(receipt, lote, trust)
        case _Disputed(receipt, denial) if receipt.lote in (None, lote.number):
            return _about_payer(_doubtful("NET:CONTRADICTION", receipt), denial)
        case _Disputed(denial=failed):
            return failed
        case _Unheard(doubt, denial):
            return _about_payer(doubt, denial)
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
        case _Disputed(denial=failed) | _Unheard(denial=failed) | failed:
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
        case _Unheard(doubt, denial):
            return _about_payer(doubt, denial)
        case _Disputed(denial=failed) | failed:
            return failed


def _said(reply: Reply) -> _Said:
    match reply:
        case Broken(code):
            return failure(code)
        case Unread():
            return _unheard(reply)
        case Fenced():
            return NOT_OURS
        case HttpAnswer():
            return _words(reply)


def _words(reply: HttpAnswer) -> _Said:
    try:
        reading = read_answer(parse(reply.body, XmlLimits(len(reply.body))))
    except XmlRefusedError as error:
        code = _problem(error.problem, reply.body)
        if code in _NOT_READ_WHOLE and not _is_success(reply):
            return _unheard(Unread(reply.status, code, reply.retry_after))
        return _without_words(reply, code)
    return _meaning(reading, reply)


def _unheard(reply: Unread) -> _Said:
    denial = http_failure(reply.status, retry_after=reply.retry_after)
    doubt = failure(reply.code, said=f"HTTP {reply.status}")
    return _Unheard(doubt, denial) if isinstance(doubt, AnswerLost) else doubt


def _meaning(reading: Reading, reply: HttpAnswer) -> _Said:
    match reading:
        case Contradiction(receipt, complaint):
            return _Disputed(receipt, _denial(complaint, reply))
        case Receipt() if not _is_success(reply):
            return _Disputed(reading, _without_words(reply, "NET:NOT_TISS"))
        case FaultSaid() | SoapFaultSaid() | RefusalSaid():
            return _denial(reading, reply)
        case Receipt() | StatusSaid() | CancelSaid() if _is_success(reply):
            return reading
        case _:
            return _without_words(reply, "NET:NOT_TISS")


def _denial(complaint: Complaint, reply: HttpAnswer) -> Failure:
    if reply.status in _BY_STATUS_ALONE:
        return http_failure(reply.status, retry_after=reply.retry_after)
    match complaint:
        case FaultSaid(word=word):
            return failure(f"FAULT:{word}" if word else "SOAP:Server", retry_after=reply.retry_after)
        case SoapFaultSaid(ours=ours):
            return failure("SOAP:Client" if ours else "SOAP:Server", retry_after=reply.retry_after)
        case RefusalSaid(code=code, guides=guides):
            return _naming(guides, failure(f"TISS:{code}" if code else UNNUMBERED))


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
    said = _BY_FIREWALL if reply.status == 403 and _is_page(reply.body) else ""
    return http_failure(reply.status, said=said, retry_after=reply.retry_after)


def _is_success(reply: HttpAnswer) -> bool:
    return 200 <= reply.status < 300


def _problem(problem: XmlProblem, body: bytes) -> str:
    if _is_page(body):
        return "NET:NOT_TISS"
    if problem in _PROBLEMS:
        return _PROBLEMS[problem]
    cut = b"Envelope" in body and not body.rstrip().endswith(b"Envelope>")
    return "NET:TRUNCATED" if cut else "NET:NOT_TISS"


def _is_page(body: bytes) -> bool:
    return b"<html" in body[:1_000].lower()


def _accepted(receipt: Receipt, lote: Lote, trust: AnswerHash) -> SendResult:
    if receipt.lote != lote.number:
        return failure("NET:OTHER_BATCH")
    if trust == "required" and not receipt.hash_agrees:
        return _doubtful("NET:ANSWER_HASH", receipt)
    glosas = _ours(frozenset(lote.guides), receipt.glosas)
    return Accepted(receipt.protocol, glosas, receipt.total, receipt.more_glosas)


def _doubtful(code: str, receipt: Receipt) -> AnswerLost:
    doubt = failure(code)
    return AnswerLost(doubt.error, code, claimed_protocol=receipt.protocol)


def _about_payer(doubt: AnswerLost, denial: Failure) -> AnswerLost:
    """Nobody knows whether the batch was taken; what the rest says of the payer still holds."""
    match denial:
        case Failed(retry_after=wish, payer_down=down) | AnswerLost(retry_after=wish, payer_down=down):
            return replace(doubt, retry_after=wish, payer_down=down)
        case AccessDenied(error):
            return replace(doubt, denial=error)
        case _:
            return doubt


def _ours(guides: frozenset[str], glosas: tuple[Glosa, ...]) -> tuple[Glosa, ...]:
    """A guide number that is not ours is the payer's text, and stays outside."""
    return tuple(glosa if glosa.guide in guides else replace(glosa, guide=None) for glosa in glosas)


def _own(lote: Lote, named: tuple[str, ...]) -> tuple[str, ...]:
    """The batch's guides that the payer can mean: those it names, or the only one."""
    only_one = len(lote.guides) == 1
    return tuple(guide for guide in lote.guides if guide and (only_one or guide in named))


def _repeatable(failed: Failure) -> Failure:
    if isinstance(failed, AnswerLost):
        return Failed(failed.error, failed.code, failed.retry_after, failed.payer_down)
    return failed
