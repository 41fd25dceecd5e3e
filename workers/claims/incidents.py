"""The way on for a claim whose process stands on an incident: its task begins again, or the claim ends."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from bpmn.names import CANCELLED_END, JobType, Message, Variable
from domain.claim_state import ClaimState
from domain.lifecycle_events import ClaimCancelledEvent
from domain.payer_status import PayerState
from domain.refusals import ClaimRefusal
from gateways.zeebe.commands import Modification, ZeebeCommands
from gateways.zeebe.messages import ProcessMessage
from gateways.zeebe.refusals import ElementGoneError, InstanceGoneError
from persistence.repositories.claims import ClaimRow
from persistence.repositories.facts import fact
from persistence.repositories.incidents import StuckJob
from persistence.store import Store, Transaction
from workers.claims.messages import require_not_at_payer

ONLY_NOW = timedelta()  # whoever waits later with a claim that has ended is told when it is to send
_CANCELLED_HERE: dict[str, object] = {Variable.CANCELLED_WAIT: None}  # not an earlier wait's cancellation


class StuckClaims:
    """Moves process instances on; the engine answers each time whether it did."""

    def __init__(self, store: Store, commands: ZeebeCommands) -> None:
        self._store = store
        self._commands = commands

    async def resolvable(self, claim: ClaimRow) -> StuckJob:
        """The job that the claim's process stands on, if it may begin again now."""
        stuck = _incident_of(claim)
        await self._require_open_payer(claim, stuck)
        return stuck

    async def cancellable(self, claim: ClaimRow, *, although_sent: bool) -> StuckJob:
        """The job that the claim's process stands on, if the claim may be cancelled now."""
        stuck = _incident_of(claim)
        if claim.state.is_final:
            raise ClaimRefusal(f"{claim.claim_id} is {claim.state}: it has ended.")
        await require_not_at_payer(self._store, claim.claim_id, although_sent=although_sent)
        return stuck

    async def resolve(
        self, claim: ClaimRow, now: datetime, corrected: Mapping[str, object], *, order_id: int | None = None
    ) -> None:
        """Begin the stuck task again, as the same job: what it has done before is still on record."""
        stuck = await self.resolvable(claim)
        instance = stuck.process_instance_key
        await self._store.run(lambda tx: tx.idempotency.forget_failed(str(instance), now=now))
        own = {str(Variable.RESOLVED_JOB): stuck.first_key}
        try:
            await self._commands.modify(
                Modification(instance, stuck.element_instance_key, stuck.element_id, corrected, own)
            )
        except InstanceGoneError as gone:
            raise await self._without_process(claim, stuck) from gone
        except ElementGoneError as gone:
            await self._store.run(lambda tx: tx.incidents.clear(claim.claim_id, stuck))
            raise _moved_on(claim) from gone
        await self._store.run(lambda tx: _note_resolved(tx, claim, order_id, now))

    async def cancel(
        self, claim: ClaimRow, now: datetime, *, although_sent: bool, order_id: int | None = None
    ) -> None:
        """End the claim's process where SUB_06 ends cancelled claims; without a process, close the record."""
        stuck = await self.cancellable(claim, although_sent=although_sent)
        instance = stuck.process_instance_key
        own = _CANCELLED_HERE | {Variable.CLOSING_ORDER_ID: order_id}
        try:
            await self._commands.modify(
                Modification(instance, stuck.element_instance_key, CANCELLED_END, own=own)
            )
        except InstanceGoneError:
            await self._close(claim, order_id, now)
        except ElementGoneError as gone:
            raise ClaimRefusal(
                f"{claim.claim_id} is not cancelled: its process {instance} has no {CANCELLED_END}, or went "
                "on since. Cancel the instance in Operate, then ask again: its record is closed then."
            ) from gone
        else:
            await self._store.run(lambda tx: tx.incidents.clear(claim.claim_id, stuck))

    async def _close(self, claim: ClaimRow, order_id: int | None, now: datetime) -> None:
        """Close the record of a claim whose own process is gone, and end any other that waits with its id."""
        claim_id, stuck = claim.claim_id, _incident_of(claim)
        if not await self._store.run(lambda tx: _close(tx, claim, order_id, now)):
            raise ClaimRefusal(
                f"{claim_id} is not cancelled: its incident was another process's, instance "
                f"{stuck.process_instance_key}, which is gone, and is forgotten now. Ask again."
            )
        order = {Variable.ORDER_ID: order_id}
        await self._commands.publish(ProcessMessage(Message.CLAIM_CANCELLED, claim_id, order, ONLY_NOW))

    async def _require_open_payer(self, claim: ClaimRow, stuck: StuckJob) -> None:
        if stuck.type != JobType.SUBMIT_CLAIM:
            return
        status = await self._store.look(lambda tx: tx.payers.find(claim.payer_id))
        if status and status.state is PayerState.STOPPED:
            raise ClaimRefusal(
                f"{claim.claim_id} stays where it is: payer {claim.payer_id} refused our credentials. "
                "Restart every worker with the corrected ones, then "
                f"`reenvio payer resume {claim.payer_id}`, then ask again."
            )

    async def _without_process(self, claim: ClaimRow, stuck: StuckJob) -> ClaimRefusal:
        if claim.state.is_final:
            await self._store.run(lambda tx: tx.incidents.clear(claim.claim_id, stuck))
            return _moved_on(claim)
        return ClaimRefusal(
            f"{claim.claim_id} has no process any more: instance {stuck.process_instance_key} ended outside "
            f"of Reenvio. `reenvio claim cancel {claim.claim_id}` closes its record."
        )


def _incident_of(claim: ClaimRow) -> StuckJob:
    if claim.incident is None:
        raise ClaimRefusal(
            f"{claim.claim_id} is {claim.state}, and no incident of it is on record: nothing to resolve."
        )
    return claim.incident


def _moved_on(claim: ClaimRow) -> ClaimRefusal:
    see = f"see `reenvio claim show {claim.claim_id}`"
    return ClaimRefusal(f"{claim.claim_id}'s process does not stand there any more: {see}.")


async def _order(tx: Transaction, claim: ClaimRow, order_id: int | None) -> str:
    ordered = None if order_id is None else await tx.orders.of_claim(order_id, claim.claim_id)
    return str(ordered or "none is on record")


async def _note_resolved(tx: Transaction, claim: ClaimRow, order_id: int | None, now: datetime) -> None:
    stuck = _incident_of(claim)
    await tx.incidents.clear(claim.claim_id, stuck)
    line = f"{stuck.element_id} begins again, on order: {await _order(tx, claim, order_id)}"
    await tx.journal.write(claim.claim_id, "incident_resolved", line, now=now)


async def _close(tx: Transaction, claim: ClaimRow, order_id: int | None, now: datetime) -> bool:
    """False when the claim is another process's."""
    claim_id, stuck = claim.claim_id, _incident_of(claim)
    locked = await tx.claims.lock(claim_id)
    if locked is None or locked.process_instance_key != stuck.process_instance_key:
        await tx.incidents.clear(claim_id, stuck)
        return False
    if await tx.claims.close(claim_id, ClaimState.CANCELLED, now=now, reason=None):
        line = f"its process had ended; closed on order: {await _order(tx, claim, order_id)}"
        await tx.journal.write(claim_id, "cancelled", line, now=now)
        cancelled = ClaimCancelledEvent(claim_id, claim.payer_id, order_id, now)
        await tx.outbox.add([fact(cancelled, claim_id, now, stuck.key)])
    await tx.payers.release(claim_id)
    return True
