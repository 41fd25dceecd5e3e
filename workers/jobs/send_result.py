"""What a send came to: what the process is told, what is kept to tell it again, and what is written down."""

from dataclasses import replace
from datetime import datetime
from typing import Any, assert_never

import structlog

from bpmn.names import ErrorCode
from domain.claim_state import ClaimState
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
from persistence.repositories.claims import SentBy
from persistence.store import Transaction
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


async def record(tx: Transaction, sent: SentBy, payer_id: str, settled: Settled, now: datetime) -> Settled:
    """Where the claim stands after a send, and its line in the journal; returns what its process is told.

    A newer send, a person or another answer may have the claim by now: then it stays as it is.
    """
    claim_id, write, move = sent.claim_id, tx.journal.write, tx.claims.answered
    match settled:
        case Accepted():
            moved = await _record_acceptance(tx, sent, settled, now)
        case ProtocolMissing():
            reason = "the payer has it; the answer with the protocol was lost"
            moved = await move(sent, ClaimState.SUBMITTING, now=now, reason=reason)  # it has not failed
            await write(claim_id, "protocol_missing", reason, now=now)
        case Failed(error, _) | AnswerLost(error, _) | ArrivalUnknown(error, _):
            moved = await move(sent, ClaimState.FAILED, now=now, reason=redact(error))
            await write(claim_id, "failed", f"send {sent.attempt}: {redact(error)}", now=now)
        case AccessDenied(error, _):
            moved = await move(sent, ClaimState.FAILED, now=now, reason=redact(error))
            line = f"send {sent.attempt}: {redact(error)}; sends to {payer_id} stopped"
            await write(claim_id, "access_denied", line, now=now)
        case _:
            assert_never(settled)
    return settled if moved else await _known_better(tx, claim_id, settled)


async def _known_better(tx: Transaction, claim_id: str, settled: Settled) -> Settled:
    """The acceptance that another send has brought meanwhile; one that was cancelled since is none."""
    claim = await tx.claims.find(claim_id)
    log.warning("answer_not_taken_over", claim=claim_id, stays=claim and claim.state)
    if claim and claim.state is ClaimState.ACCEPTED and claim.protocol_number:
        return Accepted(claim.protocol_number)
    was_accepted = isinstance(settled, Accepted)
    return ProtocolMissing() if was_accepted and not await _stands(tx, claim_id) else settled


async def _stands(tx: Transaction, claim_id: str) -> bool:
    return await tx.attempts.accepted_protocol(claim_id) is not None


async def _record_acceptance(tx: Transaction, sent: SentBy, accepted: Accepted, now: datetime) -> bool:
    """Whether it ended the claim."""
    protocol, total = accepted.protocol_number, accepted.total
    amount = f", total {total}" if total else ""
    glosas = _with_glosas(accepted.glosas, accepted.more_glosas)
    line = f"send {sent.attempt}, protocol {protocol}{amount}{glosas}"
    taken = await tx.claims.accepted(sent, protocol, now=now)
    event = "accepted" if taken else await _late_acceptance(tx, sent, protocol)
    await tx.journal.write(sent.claim_id, event, line, now=now)
    return taken


async def _late_acceptance(tx: Transaction, sent: SentBy, protocol: str) -> str:
    """What to call an acceptance that does not end its claim; a person who has the claim sees its number."""
    claim = await tx.claims.find(sent.claim_id)
    if claim and claim.state is ClaimState.ACCEPTED:
        if claim.protocol_number == protocol:
            return "accepted"
        log.error("claim_accepted_twice", claim=sent.claim_id, kept=claim.protocol_number, other=protocol)
        return "accepted_again"
    if await tx.attempts.accepted_protocol(sent.claim_id) != protocol:
        return "accepted_and_undone"
    await tx.claims.note_protocol(sent.claim_id, protocol)
    return "accepted"


async def record_hold(tx: Transaction, claim: Candidate, hold: Hold, now: datetime, *, process: int) -> None:
    """The claim waits, and no attempt was spent."""
    await move_to_wait(tx, claim, hold, now, process=process)
    line = f"{redact(hold.reason)}; no attempt spent"
    await tx.journal.write(claim.claim_id, "payer_unavailable", line, now=now)


async def move_to_wait(tx: Transaction, claim: Candidate, hold: Hold, now: datetime, *, process: int) -> None:
    """Move the claim to its wait without a line in the journal: a wait may be prolonged many times."""
    waiting = {"reason": redact(hold.reason), "next_retry_time": hold.resume_at}
    waiting |= {"process_instance_key": process}
    await tx.claims.put(claim.claim_id, claim.payer_id, ClaimState.WAITING, now=now, **waiting)


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
