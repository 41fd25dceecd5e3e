"""What a send came to: what the process is told, what is kept to tell it again, and what is written down."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, assert_never

import structlog

from bpmn.names import ErrorCode
from domain.claim_state import ClaimState, predecessors
from domain.outputs import iso_time
from domain.redaction import redact
from domain.submission import (
    Accepted,
    AccessDenied,
    AnswerLost,
    ArrivalUnknown,
    Failed,
    Glosa,
    ProtocolMissing,
    Settled,
    Submission,
)
from domain.verdicts import Candidate, Hold, Stop
from persistence.repositories.attempts import History
from persistence.repositories.claims import ClaimRow, SentBy
from persistence.repositories.journal import JournalNote
from workers.runtime.outcome import Complete, Incident, Throw, from_json

GUIDES_SHOWN = 10
FORBIDDEN = "HTTP 403"
"""In an error: a payer may have said it, or a firewall before it of one file."""
log = structlog.get_logger(__name__)


def report(sent: Submission, settled: Settled, now: datetime) -> Complete | Throw | Incident:
    """What the process is told."""
    match settled:
        case Accepted(protocol_number):
            return accepted(protocol_number)
        case ProtocolMissing():
            return accepted(None)
        case Failed(error, code) | AnswerLost(error, code) | ArrivalUnknown(error, code):
            return failed(redact(error), code, now)
        case AccessDenied(error):
            return access_denied(sent.payer_id, error)
        case _:
            assert_never(settled)


def facts_of(settled: Settled) -> dict[str, Any] | None:
    """What is kept of a send, redacted; None where a job that comes again is to be done again."""
    match settled:
        case Accepted(protocol_number, glosas, total, more):
            counted = {"moreGlosas": more} if more else {}
            return {"protocolNumber": protocol_number} | _beside_the_protocol(total, glosas) | counted
        case ProtocolMissing():
            return {"protocolNumber": None}
        case Failed(error, code) | ArrivalUnknown(error, code):
            return {"error": redact(error), "code": code}
        case AnswerLost(error, code, claimed_protocol=claimed):
            named = {"claimedProtocol": claimed} if claimed else {}
            return {"error": redact(error), "code": code} | named
        case AccessDenied():
            return None
        case _:
            assert_never(settled)


def stored_answer(facts: dict[str, Any], sent_at: datetime) -> Complete | Throw:
    """What the process was told of a send, from what is kept of it."""
    if "complete" in facts or "throw" in facts:  # a row of an earlier version: it holds the answer itself
        return from_json(facts)
    if "error" in facts:
        return failed(facts["error"], facts["code"], sent_at)
    return accepted(facts["protocolNumber"])


def accepted(protocol_number: str | None) -> Complete:
    """The payer has the claim; without a protocol number a person looks for it."""
    return Complete({"protocolNumber": protocol_number})


def failed(error: str, code: str | None, now: datetime) -> Throw:
    """The claim was not taken: the process decides what next; the error is redacted before."""
    variables = {"submissionError": error, "submissionErrorCode": code, "lastSubmissionTime": iso_time(now)}
    return Throw(ErrorCode.SUBMISSION_FAILED, error, variables)


def not_sent(error: str, code: str) -> Throw:
    """Nothing left and nothing may wait on: the last submission stays the one before, if there was one."""
    return Throw(ErrorCode.SUBMISSION_FAILED, error, {"submissionError": error, "submissionErrorCode": code})


def held(hold: Hold) -> Throw:
    """Nothing was sent: the claim waits on the timer."""
    reason = redact(hold.reason)
    variables = {"resumeAt": iso_time(hold.resume_at), "payerUnavailableReason": reason}
    return Throw(ErrorCode.PAYER_UNAVAILABLE, reason, variables)


def access_denied(payer_id: str, error: str) -> Incident:
    """The incident of a claim whose credentials were refused: it may be retried as often as it takes."""
    may_mean_the_file = FORBIDDEN in error
    what = "denies us access" if may_mean_the_file else "refused our credentials"
    advice = (
        f"Payer {payer_id} {what}: {redact(error)}. All sends to it have stopped, so that "
        "the account is not locked. Restart every worker with the corrected credentials, then run "
        f"`reenvio payer resume {payer_id}`, then `reenvio claim resolve --payer {payer_id}`, "
        "or retry this incident in Operate."
    )
    return Incident(f"{advice} {_set_aside(payer_id)}" if may_mean_the_file else advice, is_undone=True)


def _set_aside(payer_id: str) -> str:
    """The way on where a firewall has denied one file."""
    return (
        "If the credentials are as they were and others were taken before, a firewall denies this file: "
        f"run `reenvio payer resume {payer_id}`, wait until another claim is taken (`reenvio claim list`), "
        "and resolve this one then: denied again, its file is set aside for a person, and the payer goes on."
    )


def for_real_payers_only(claim_id: str) -> Incident:
    """The incident of a claim that was handed in and would get an invented answer: nothing was sent."""
    advice = (
        f"{claim_id} was handed in with its file, and this worker has only the practice payer "
        "(PRACTICE_PAYER or PAYER_SCRIPT is set): nothing was sent, and no protocol is made up for it. "
        f"Restart every worker with PAYERS_FILE instead, then run `reenvio claim resolve {claim_id}`, "
        "or retry this incident in Operate."
    )
    return Incident(advice, is_undone=True)


@dataclass(frozen=True, slots=True)
class LockedClaim:
    """A claim that is locked here, with all its sends, the answered one among them."""

    payer_id: str
    row: ClaimRow | None
    history: History

    def answered(self, sent: SentBy, state: ClaimState, *, now: datetime, reason: str) -> ClaimRow | None:
        """The claim moved by the answer to its newest send; None when it stays as it is."""
        if self.row is None or self.history.last > sent.attempt:
            return None
        is_own = self.row.process_instance_key in (None, sent.process_instance_key)
        may = is_own and self.row.state in predecessors(state)
        return self.row.moved(state, now=now, reason=reason) if may else None

    def accepted(self, sent: SentBy, protocol: str, *, now: datetime) -> ClaimRow | None:
        """The claim ended as its payer accepted it, however late one hears of it; None when it stays.

        An acceptance that the payer has cancelled since is none.
        """
        if self.row is None or self.row.state not in predecessors(ClaimState.ACCEPTED):
            return None
        if self.history.is_undone(sent.attempt):
            return None
        return self.row.moved(ClaimState.ACCEPTED, now=now, protocol_number=protocol, reason=None)


@dataclass(frozen=True, slots=True)
class AfterSend:
    """Where a claim stands after a send, its line in the journal, and what its process is told.

    A newer send, a person or another answer may have the claim by now: then it stays as it is, and at most
    the payer's number is noted.
    """

    told: Settled
    line: JournalNote
    claim: ClaimRow | None = None
    noted_protocol: str | None = None


def recorded(sent: SentBy, settled: Settled, known: LockedClaim, now: datetime) -> AfterSend:
    """What becomes of a claim by the answer to its send."""
    note = partial(JournalNote, sent.claim_id, now)
    match settled:
        case Accepted():
            return _accepted(sent, settled, known, now)
        case ProtocolMissing():
            reason = "the payer has it; the answer with the protocol was lost"
            moved = known.answered(sent, ClaimState.SUBMITTING, now=now, reason=reason)  # it has not failed
            line = note("protocol_missing", reason)
        case Failed(error, _) | AnswerLost(error, _) | ArrivalUnknown(error, _):
            moved = known.answered(sent, ClaimState.FAILED, now=now, reason=redact(error))
            line = note("failed", f"send {sent.attempt}: {redact(error)}")
        case AccessDenied(error, _):
            moved = known.answered(sent, ClaimState.FAILED, now=now, reason=redact(error))
            stopped = f"send {sent.attempt}: {redact(error)}; sends to {known.payer_id} stopped"
            line = note("access_denied", stopped)
        case _:
            assert_never(settled)
    return AfterSend(settled if moved else _known_better(known, sent, settled), line, moved)


def _known_better(known: LockedClaim, sent: SentBy, settled: Settled) -> Settled:
    """The acceptance that another send has brought meanwhile; one that was cancelled since is none."""
    claim = known.row
    log.warning("answer_not_taken_over", claim=sent.claim_id, stays=claim and claim.state)
    if claim and claim.state is ClaimState.ACCEPTED and claim.protocol_number:
        return Accepted(claim.protocol_number)
    is_void = isinstance(settled, Accepted) and known.history.accepted_protocol is None
    return ProtocolMissing() if is_void else settled


def _accepted(sent: SentBy, accepted: Accepted, known: LockedClaim, now: datetime) -> AfterSend:
    protocol, total = accepted.protocol_number, accepted.total
    amount = f", total {total}" if total else ""
    glosas = _with_glosas(accepted.glosas, accepted.more_glosas)
    detail = f"send {sent.attempt}, protocol {protocol}{amount}{glosas}"
    if moved := known.accepted(sent, protocol, now=now):
        return AfterSend(accepted, JournalNote(sent.claim_id, now, "accepted", detail), moved)
    event, is_noted = _late_acceptance(known, sent, protocol)
    told = _known_better(known, sent, accepted)
    return AfterSend(
        told, JournalNote(sent.claim_id, now, event, detail), noted_protocol=protocol if is_noted else None
    )


def _late_acceptance(known: LockedClaim, sent: SentBy, protocol: str) -> tuple[str, bool]:
    """What to call an acceptance that does not end its claim; a person who has the claim sees its number."""
    claim = known.row
    if claim and claim.state is ClaimState.ACCEPTED:
        if claim.protocol_number == protocol:
            return "accepted", False
        log.error("claim_accepted_twice", claim=sent.claim_id, kept=claim.protocol_number, other=protocol)
        return "accepted_again", False
    if known.history.accepted_protocol != protocol:
        return "accepted_and_undone", False
    return "accepted", True


def deadline_near(claim: Candidate, stop: Stop) -> str:
    """The error of a claim that must not wait on."""
    due = f" {iso_time(claim.deadline)}" if claim.deadline else ""
    why = f"payer {claim.payer_id} is not available ({stop.reason})"
    return f"SERVICE_UNAVAILABLE - {why} and the claim's deadline{due} is near"


def _beside_the_protocol(total: str | None, glosas: tuple[Glosa, ...]) -> dict[str, Any]:
    """What the payer said beside it, in business numbers; kept, and never told the engine."""
    if not (total or glosas):
        return {}
    kept = [{"level": glosa.level, "code": glosa.code, "guide": glosa.guide} for glosa in glosas]
    return {"total": total, "glosas": kept}


def _with_glosas(glosas: tuple[Glosa, ...], more: int) -> str:
    lines = [_line(kind, guides) for kind, guides in _by_kind(glosas).items()]
    counted = [f"and {more} more that are not kept"] if more else []
    return f", with glosas: {'; '.join(lines + counted)}" if glosas else ""


def _by_kind(glosas: tuple[Glosa, ...]) -> dict[Glosa, list[str | None]]:
    kinds: dict[Glosa, list[str | None]] = {}
    for glosa in glosas:
        kinds.setdefault(replace(glosa, guide=None), []).append(glosa.guide)
    return kinds


def _line(kind: Glosa, guides: list[str | None]) -> str:
    named = sorted({guide for guide in guides if guide})
    more = f" and {len(named) - GUIDES_SHOWN} more" if len(named) > GUIDES_SHOWN else ""
    where = f": {', '.join(named[:GUIDES_SHOWN])}{more}" if named else ""
    return f"{kind.code} {kind.meaning} ({kind.level}, {len(guides)}x{where})"
