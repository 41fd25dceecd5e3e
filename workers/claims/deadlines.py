"""Another deadline for a claim whose process runs: told to the engine, kept, on record with who and why.

The process decides by it from its next decision on. A wait that would end in the time that is kept for a
person is cut: the claim is woken, and goes as soon as its payer takes it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from bpmn.names import Variable
from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.deadline_changes import DeadlineChange, cuts_wait, read_change, said, wished_deadline
from domain.operators import Attribution
from domain.outputs import iso_time
from domain.policy import Policy
from domain.ports import Clock
from domain.refusals import ClaimRefusal
from domain.undoing import may_be_undone
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.refusals import InstanceGoneError
from persistence.repositories.claims import ClaimRow
from persistence.repositories.operator_orders import KeptOrder
from persistence.store import Store, Transaction
from workers.claims.finding import find_claim
from workers.claims.messages import ClaimMessages
from workers.claims.ordering import Subject, ordered

CHANGED = "deadline_changed"


@dataclass(frozen=True, slots=True)
class ChangedDeadline:
    """What came of it; `is_woken` where the claim's wait was cut."""

    claim: ClaimRow
    change: DeadlineChange
    is_woken: bool


@dataclass(frozen=True, slots=True)
class ClaimDeadlines:
    """Changes deadlines, and sets them back."""

    store: Store
    commands: ZeebeCommands
    clock: Clock
    policy: Callable[[], Policy]

    async def change(self, claim_id: ClaimId, to: str, given: Attribution) -> ChangedDeadline:
        """Another deadline, as somebody wrote it; a refusal names what is wrong, and nothing is on record."""
        now = await self.clock.now()
        wished = wished_deadline(to, now, self.policy().zone)
        return await self._change(await self._changeable(claim_id), wished, given, now)

    async def undo(self, claim_id: ClaimId, order_id: int, given: Attribution) -> ChangedDeadline:
        """Set a change back to what it was before, for a while after it, unless another came since."""
        now = await self.clock.now()
        newest = await self.store.look(lambda tx: _newest_change(tx, claim_id.value))
        if newest is None or newest[0].order_id != order_id or not may_be_undone(newest[0].at, now):
            raise ClaimRefusal(f"{claim_id}: this change was not the last of its deadline, or is too old.")
        change = newest[1]
        if change.before is not None and change.before <= now:
            raise ClaimRefusal(f"{claim_id}: {said(change.before)} has passed, and cannot be its deadline.")
        return await self._change(await self._changeable(claim_id), change.before, given, now)

    async def _changeable(self, claim_id: ClaimId) -> ClaimRow:
        claim = await find_claim(self.store, claim_id)
        if claim.state.is_final:
            raise ClaimRefusal(f"{claim_id} is {claim.state}: it has ended, and is due no more.")
        if claim.process_instance_key is None:
            raise ClaimRefusal(
                f"{claim_id} is {claim.state}: it has not been sent yet. Ask again in a moment."
            )
        return claim

    async def _change(
        self, claim: ClaimRow, wished: datetime | None, given: Attribution, now: datetime
    ) -> ChangedDeadline:
        before = await self.store.look(lambda tx: _known_deadline(tx, claim))
        change = DeadlineChange(wished, before)
        if said(change.after) == said(change.before):
            raise ClaimRefusal(f"{claim.claim_id} has this deadline already: {said(change.after)}.")
        async with ordered(self.store, change.action, Subject(claim.claim_id), given, now):
            await self._tell_process(claim, wished)
            await self.store.run(lambda tx: _keep(tx, claim, change, now))
        is_cut = self._is_cut(claim, wished)
        if is_cut:
            await ClaimMessages(self.store, self.commands).wake(claim)
        return ChangedDeadline(await find_claim(self.store, ClaimId(claim.claim_id)), change, is_cut)

    async def _tell_process(self, claim: ClaimRow, wished: datetime | None) -> None:
        told = {str(Variable.DEADLINE): iso_time(wished) if wished else None}
        try:
            await self.commands.set_variables(claim.process_instance_key or 0, told)
        except InstanceGoneError as gone:
            raise ClaimRefusal(
                f"{claim.claim_id} has no process any more: it ended outside of Reenvio, and its deadline is "
                f"nobody's. `reenvio claim show {claim.claim_id}` says where it stands."
            ) from gone

    def _is_cut(self, claim: ClaimRow, wished: datetime | None) -> bool:
        limits = self.policy().for_payer(claim.payer_id).limits
        is_waiting = claim.state is ClaimState.WAITING and claim.incident is None
        return is_waiting and cuts_wait(
            claim.next_retry_time, wished, timedelta(seconds=limits.reserve_seconds)
        )


async def _known_deadline(tx: Transaction, claim: ClaimRow) -> datetime | None:
    """Until when it is due by what is known: a process that others started has told only its decisions."""
    if claim.deadline is not None:
        return claim.deadline
    if newest := await _newest_change(tx, claim.claim_id):
        return newest[1].after
    decisions = await tx.decisions.of_claims([claim.claim_id])
    return decisions[-1].deadline if decisions else None


async def _newest_change(tx: Transaction, claim_id: str) -> tuple[KeptOrder, DeadlineChange] | None:
    """The newest order that changed a claim's deadline and was not refused."""
    for order in reversed(await tx.orders.about_claim(claim_id)):
        change = read_change(order.action)
        if change and order.refused_at is None:
            return order, change
    return None


async def _keep(tx: Transaction, claim: ClaimRow, change: DeadlineChange, now: datetime) -> None:
    await tx.claims.set_deadline(claim.claim_id, change.after)
    await tx.payers.set_deadline(claim.claim_id, change.after)
    line = f"{said(change.after)}; it was {said(change.before)}"
    await tx.journal.write(claim.claim_id, CHANGED, line, now=now)
