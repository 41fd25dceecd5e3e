"""What people and other systems may ask of a claim: start, retry now, cancel, decide a review."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bpmn.names import Message, Variable
from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.outputs import iso_time
from domain.refusals import ClaimRefusal
from domain.reviews import (
    AtPayer,
    ReviewDecision,
    ReviewReason,
    require_allowed,
    require_cancellable,
    require_decision,
)
from gateways.tiss.answers import is_protocol
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.messages import ProcessMessage
from persistence.repositories.claims import ClaimRow
from persistence.repositories.incidents import StuckJob
from persistence.repositories.reviews import Review
from persistence.store import Store, Transaction
from workers.claims.confirmation import way_on
from workers.claims.finding import find_claim, whether_at_payer
from workers.payers.waking import KEEP as KEEP_WAKE_UP

KEEP_START = timedelta(hours=24)
REMEMBERED = KEEP_START - timedelta(hours=1)
"""How long after its arrival the engine surely knows a claim's message again, clocks that differ included."""
KEEP_WISH = timedelta(minutes=10)  # a person's wish may arrive a moment before the process waits for it


@dataclass(frozen=True, slots=True)
class Ready:
    """A claim whose process may start, by what the process gets to know."""

    claim_id: str
    payer_id: str
    deadline: datetime | None = None


async def start(commands: ZeebeCommands, claim: Ready, *, age: timedelta = timedelta()) -> bool:
    """Ask the engine for the claim's process; False when it remembers that it was asked.

    It forgets a message after KEEP_START. From then on none is left with it to wait: one that finds the
    claim's process at work is dropped, and cannot start a second one when the first has ended.
    """
    keep = KEEP_START if age < REMEMBERED else timedelta()
    deadline = {Variable.DEADLINE: iso_time(claim.deadline)} if claim.deadline else {}
    variables = {Variable.CLAIM_ID: claim.claim_id, Variable.PAYER_ID: claim.payer_id} | deadline
    return await commands.publish(
        ProcessMessage(Message.CLAIM_READY, claim.claim_id, variables, keep, claim.claim_id)
    )


def protocol_number(text: str) -> str:
    """The number, if it has the form of a protocol: any other text stays out of engine and messages."""
    if not is_protocol(text):
        raise ClaimRefusal(
            "A protocol number has 1 to 12 characters: letters and digits, and . / _ - after the first."
        )
    return text


async def require_not_at_payer(store: Store, claim_id: str, *, although_sent: bool) -> None:
    """Refuse to cancel what its payer has or may have, unless the person knows."""
    if not although_sent:
        require_cancellable(claim_id, await store.look(lambda tx: whether_at_payer(tx, claim_id)))


def stands_on_incident(claim: ClaimRow, stuck: StuckJob) -> ClaimRefusal:
    """The refusal of a wish that the claim's process cannot take, with the ways on."""
    where = f"instance {stuck.process_instance_key}, job {stuck.key}"
    return ClaimRefusal(
        f"{claim.claim_id} was told nothing: its process stands on an incident since "
        f"{stuck.since.isoformat(timespec='seconds')} ({where}): {stuck.message} {way_on(claim.claim_id)}"
    )


async def wait_of(tx: Transaction, claim: ClaimRow) -> str | None:
    """What the claim waits for, as its process knows it: a time, or the decision of one review."""
    if claim.state is ClaimState.IN_REVIEW:
        reviews = await tx.reviews.of_claim(claim.claim_id)
        return f"review-{reviews[-1].round}" if reviews else None
    is_waiting = claim.state is ClaimState.WAITING and claim.next_retry_time
    return iso_time(claim.next_retry_time) if is_waiting and claim.next_retry_time else None


class ClaimMessages:
    """Speaks to claims by message; the engine finds the instance by the claim's id."""

    def __init__(self, store: Store, commands: ZeebeCommands) -> None:
        self._store = store
        self._commands = commands

    async def start(self, claim_id: ClaimId, payer_id: str) -> bool:
        """Start the claim's process; False when it was started before."""
        if await self._store.look(lambda tx: tx.claims.find(claim_id.value)):
            return False
        return await start(self._commands, Ready(claim_id.value, payer_id))

    async def retry_now(self, claim_id: ClaimId) -> bool:
        """Wake a claim from this very wait, once; False when it was asked for a moment ago."""
        return await self.wake(await self.waiting(claim_id))

    async def waiting(self, claim_id: ClaimId) -> ClaimRow:
        """The claim, if it waits for its time."""
        return await self._require(claim_id, ClaimState.WAITING)

    async def wake(self, claim: ClaimRow) -> bool:
        """Wake a waiting claim as `retry_now` does."""
        wait = f"{claim.claim_id} {claim.next_retry_time}"
        return await self._commands.publish(
            ProcessMessage(Message.RETRY_NOW, claim.claim_id, {}, KEEP_WAKE_UP, wait)
        )

    async def cancel(
        self, claim_id: ClaimId, *, although_sent: bool = False, order_id: int | None = None
    ) -> None:
        """Cancel a claim in the wait, for its time or for a person, in which its payer cannot have it."""
        claim = await self.cancellable(claim_id, although_sent=although_sent)
        wait = await self._store.look(lambda tx: wait_of(tx, claim))
        variables = {Variable.CANCELLED_WAIT: wait, Variable.ORDER_ID: order_id}
        await self._commands.publish(
            ProcessMessage(Message.CLAIM_CANCELLED, claim_id.value, variables, KEEP_WISH)
        )

    async def cancellable(self, claim_id: ClaimId, *, although_sent: bool) -> ClaimRow:
        """The claim, if it may be cancelled now."""
        claim = await self._require(claim_id, ClaimState.WAITING, ClaimState.IN_REVIEW)
        await require_not_at_payer(self._store, claim_id.value, although_sent=although_sent)
        return claim

    async def decidable(self, claim_id: ClaimId, decision: ReviewDecision) -> ClaimRow:
        """The claim, if this may be decided about it now, with whatever protocol number."""
        claim = await self._require(claim_id, ClaimState.IN_REVIEW)
        review = await self._review(claim)
        require_decision(review.claim_id, review.reason, decision)
        return claim

    async def decide_review(
        self,
        claim_id: ClaimId,
        decision: ReviewDecision,
        *,
        protocol_number: str | None = None,
        order_id: int | None = None,
    ) -> None:
        """Hand a person's decision to the process; one about an earlier round is ignored by it."""
        review = await self._review(await self._require(claim_id, ClaimState.IN_REVIEW))
        require_allowed(review.claim_id, review.reason, decision, protocol_number)
        variables = {
            Variable.REVIEW_DECISION: decision,
            Variable.DECIDED_ROUND: review.round,
            Variable.PROTOCOL_NUMBER: _checked(protocol_number),
            Variable.ORDER_ID: order_id,
        }
        await self._commands.publish(
            ProcessMessage(Message.REVIEW_DECIDED, claim_id.value, variables, KEEP_WISH)
        )

    async def _review(self, claim: ClaimRow) -> Review:
        """The claim's review, for the reason that holds by what is known now."""
        reviews = await self._store.look(lambda tx: tx.reviews.of_claim(claim.claim_id))
        review = reviews[-1] if reviews else Review(claim.claim_id, 0, claim.reason or "", None)
        where = await self._store.look(lambda tx: whether_at_payer(tx, claim.claim_id))
        return replace(review, reason=ReviewReason.PROTOCOL_MISSING) if where is AtPayer.YES else review

    async def _require(self, claim_id: ClaimId, *states: ClaimState) -> ClaimRow:
        claim = await find_claim(self._store, claim_id)
        if claim.incident:
            raise stands_on_incident(claim, claim.incident)
        if claim.state not in states:
            wanted = " or ".join(states)
            raise ClaimRefusal(
                f"{claim_id} is {claim.state}, and this can be asked only while it is {wanted}."
            )
        return claim


def _checked(given: str | None) -> str | None:
    return protocol_number(given) if given else given
