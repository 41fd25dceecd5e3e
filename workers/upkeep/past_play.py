"""Records of claims and payers, read as a history that can be played again."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from domain.claim import is_claim_id, is_reference
from domain.claim_state import ClaimState
from domain.payer_status import PayerState
from domain.submission import (
    Accepted,
    AccessDenied,
    AnswerLost,
    ArrivalUnknown,
    Failed,
    ProtocolMissing,
    Settled,
)
from domain.what_if.history import Ending, PastClaim, PastSend, PayerHold, PlayedClaim, StoredHistory
from gateways.tiss.faults import failure
from persistence.repositories.past_claims import DecisionOnRecord, SendOnRecord, SentClaim
from persistence.repositories.payer_traffic import PayerMove
from persistence.store import Transaction

HELD = (PayerState.PAUSED, PayerState.STOPPED)
ON_RECORD = "on record"


async def stored_history(tx: Transaction, most: int, until: datetime) -> StoredHistory:
    """The newest claims, `most` of them, and what people did to their payers meanwhile."""
    found = [claim for claim in await tx.past_claims.newest(most) if _is_playable(claim.claim_id)]
    since = min((claim.created_at for claim in found), default=until)
    moves = await tx.payer_traffic.moves(since)
    return StoredHistory(tuple(past_claim(claim) for claim in found), until, tuple(holds(moves)))


def _is_playable(claim_id: str) -> bool:
    return is_claim_id(claim_id) or is_reference(claim_id)


def holds(moves: Sequence[PayerMove]) -> Iterator[PayerHold]:
    """When people, or refused access, held payers' claims."""
    begun: dict[str, datetime] = {}
    for move in moves:
        if move.after in HELD and move.payer_id not in begun:
            begun[move.payer_id] = move.at
        elif move.before in HELD and move.after not in HELD and move.payer_id in begun:
            yield PayerHold(move.payer_id, begun.pop(move.payer_id), move.at)
    yield from (PayerHold(payer_id, start) for payer_id, start in begun.items())


def past_claim(claim: SentClaim) -> PastClaim:
    """A claim's first round: what came after a person decided about it is another."""
    end = next((one for one in claim.decided if one.given_up), None)
    sends = [send for send in claim.sends if end is None or send.started_at <= end.at]
    return PastClaim(
        claim_id=claim.claim_id,
        payer_id=claim.payer_id,
        came_at=min([claim.created_at, *(send.started_at for send in sends)]),
        sends=tuple(_past_send(send, claim.decided) for send in sends),
        real=_real(claim, sends, end),
        deadline=claim.deadline,
        ended_by_person_at=claim.updated_at if _is_cancelled(claim) and end is None else None,
    )


def _past_send(send: SendOnRecord, decided: Sequence[DecisionOnRecord]) -> PastSend:
    lasted = (send.finished_at - send.started_at) if send.finished_at else timedelta()
    return PastSend(send.started_at, max(lasted, timedelta()), _result(send, decided))


def _result(send: SendOnRecord, decided: Sequence[DecisionOnRecord]) -> Settled | None:
    """What a send came to; the error of facts that are gone is told by the decision that followed."""
    facts = send.facts or {}
    error = str(facts.get("error") or _decided_error(send, decided))
    code = facts.get("code")
    match send.outcome:
        case Accepted.stored_as if send.undone_at is None:
            return Accepted(ON_RECORD)
        case ProtocolMissing.stored_as:
            return ProtocolMissing()
        case ArrivalUnknown.stored_as if error:
            return ArrivalUnknown(error, code)
        case AccessDenied.stored_as:
            return AccessDenied(ON_RECORD)
        case Failed.stored_as if error:
            return Failed(error, code, payer_down=_speaks_of_outage(code))
        case AnswerLost.stored_as if error:
            return AnswerLost(error, code, payer_down=_speaks_of_outage(code))
        case _:
            return None


def _decided_error(send: SendOnRecord, decided: Sequence[DecisionOnRecord]) -> str:
    finished = send.finished_at
    return next((one.error for one in decided if finished and one.at >= finished), "")


def _speaks_of_outage(code: str | None) -> bool:
    meant = failure(code) if code else None
    return isinstance(meant, Failed | AnswerLost) and meant.payer_down


def _is_cancelled(claim: SentClaim) -> bool:
    return claim.state is ClaimState.CANCELLED


def _real(claim: SentClaim, sends: Sequence[SendOnRecord], end: DecisionOnRecord | None) -> PlayedClaim:
    first, taken = (claim.decided[0] if claim.decided else None), next(filter(_is_taken, sends), None)
    ending, ended_at = _ending(claim, taken, end)
    return PlayedClaim(
        claim_id=claim.claim_id,
        payer_id=claim.payer_id,
        ending=ending,
        sends=tuple(send.started_at for send in sends),
        first_failed_at=first.at if first else None,
        is_retried=first is not None and first.given_up is None,
        ended_at=ended_at,
    )


def _ending(
    claim: SentClaim, taken: SendOnRecord | None, end: DecisionOnRecord | None
) -> tuple[Ending, datetime | None]:
    if taken:
        return (Ending.RECOVERED if claim.decided else Ending.AT_ONCE), taken.finished_at
    if end and end.given_up:
        return Ending(end.given_up), end.at
    if _is_cancelled(claim):
        return Ending.BY_PERSON, claim.updated_at
    denied = claim.sends and claim.sends[-1].outcome == AccessDenied.stored_as
    return (Ending.STANDS if denied else Ending.RUNNING), None


def _is_taken(send: SendOnRecord) -> bool:
    accepted = send.outcome == Accepted.stored_as and send.undone_at is None
    return send.finished_at is not None and (accepted or send.outcome == ProtocolMissing.stored_as)
