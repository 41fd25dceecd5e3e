"""Questions are admitted as sends are: never past refused credentials, and counted in the payer's pace."""

from dataclasses import dataclass
from datetime import datetime

from domain.breaker import Breaker
from domain.errors import Trouble
from domain.payer_status import PayerLimits, PayerState, PayerStatus
from gateways.tiss.outcomes import Situation, StatusOutcome
from persistence.store import Transaction
from workers.payers.admission import PayerChange, locked
from workers.payers.status import moment

QUESTION = 0  # where a send has its number, which counts from 1


class NotNow(Trouble):
    """The payer must not be asked now; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class StatusQuestion:
    """A question about one claim, asked within its payer's limits."""

    claim_id: str
    payer_id: str
    limits: PayerLimits

    async def begin(self, tx: Transaction, now: datetime) -> None:
        """Count the question as under way; NotNow when it must not leave."""
        payer = await locked(tx, self.payer_id, self.limits, now)
        if objection := _objection(payer.breaker.aged(), await payer.in_flight()):
            raise NotNow(objection)
        await payer.change(payer.breaker.called())
        await tx.payers.send_began(self.claim_id, QUESTION, self.payer_id, until=now + self.limits.lease)

    async def end(self, tx: Transaction, outcome: StatusOutcome, now: datetime) -> PayerChange:
        """What the answer changes for the payer; the question is under way no more."""
        payer = await locked(tx, self.payer_id, self.limits, now)
        change = await payer.change(_after(payer.breaker, outcome))
        await tx.payers.send_ended(self.claim_id, QUESTION)
        return change


def _after(breaker: Breaker, outcome: StatusOutcome) -> PayerStatus:
    if isinstance(outcome, Situation):
        return breaker.status
    return breaker.after_question(outcome)


def _objection(breaker: Breaker, under_way: int) -> str | None:
    status = breaker.status
    payer = status.payer_id
    if status.state is PayerState.STOPPED:
        return (
            f"Payer {payer} refused our credentials ({status.reason}): another login could lock the account. "
            f"Restart every worker with the corrected ones, then run `reenvio payer resume {payer}`."
        )
    if status.not_before and status.not_before > breaker.now:
        return f"Payer {payer} asked to come later: ask again after {moment(status.not_before)}."
    if under_way >= breaker.places:
        return f"Payer {payer} has as many calls under way as it may have: ask again in a minute."
    return None
