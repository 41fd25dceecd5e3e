"""Questions pass a payer's door as sends do: never past refused credentials, and counted in its pace."""

from dataclasses import replace
from datetime import datetime, timedelta

from domain import breaker
from domain.breaker import Signal, aged, is_free, signal_of
from domain.errors import Trouble
from domain.payer_status import PayerLimits, PayerState, PayerStatus
from domain.redaction import redact
from domain.slots import latest
from domain.submission import Failed
from gateways.tiss.outcomes import Situation, StatusOutcome
from persistence.store import Transaction
from workers.payers.admission import Candidate, PayerChange
from workers.payers.status import moment

QUESTION = 0  # where a send has its number, which counts from 1


class NotNow(Trouble):
    """The payer must not be asked now; the text says why and what to do."""


async def ask(tx: Transaction, claim: Candidate, limits: PayerLimits, now: datetime) -> None:
    """Count a question as under way; NotNow when it must not leave."""
    status = await tx.payers.lock(claim.payer_id, now=now)
    under_way = await tx.payers.in_flight(claim.payer_id, now=now)
    if objection := _objection(aged(status, now), under_way, limits, now):
        raise NotNow(objection)
    paced_until = latest(now, status.paced_until) + limits.interval
    await tx.payers.save(replace(status, paced_until=paced_until))
    await tx.payers.send_began(claim.claim_id, QUESTION, claim.payer_id, until=now + limits.lease)


async def answered(
    tx: Transaction, claim: Candidate, outcome: StatusOutcome, limits: PayerLimits, now: datetime
) -> PayerChange:
    """What an answer changes for the payer: trouble counts as after a send, a good answer proves nothing.

    Whoever answers questions need not take claims.
    """
    before = await tx.payers.lock(claim.payer_id, now=now)
    error = "" if isinstance(outcome, Situation) else redact(outcome.error)
    after = breaker.after_answer(
        before, _word(outcome), limits, now, reason=error, retry_after=_wish(outcome)
    )
    await tx.payers.save(after)
    await tx.payers.send_ended(claim.claim_id, QUESTION)
    return PayerChange(before, after)


def _objection(status: PayerStatus, under_way: int, limits: PayerLimits, now: datetime) -> str | None:
    payer = status.payer_id
    if status.state is PayerState.STOPPED:
        return (
            f"Payer {payer} refused our credentials ({status.reason}): another login could lock the account. "
            f"Correct them, then run `reenvio payer resume {payer}`."
        )
    if status.not_before and status.not_before > now:
        return f"Payer {payer} asked to come later: ask again after {moment(status.not_before)}."
    if under_way >= (limits.at_once if is_free(status, limits) else limits.trials):
        return f"Payer {payer} has as many calls under way as it may have: ask again in a minute."
    return None


def _word(outcome: StatusOutcome) -> Signal:
    word = Signal.NOTHING if isinstance(outcome, Situation) else signal_of(outcome)
    return Signal.NOTHING if word is Signal.ANSWERED else word


def _wish(outcome: StatusOutcome) -> timedelta | None:
    return outcome.retry_after if isinstance(outcome, Failed) else None
