"""What a person orders of one claim, whoever asks for it: sent now, or ended for good."""

from dataclasses import dataclass

from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.operators import CANCEL, Attribution
from domain.ports import Clock
from domain.refusals import ClaimRefusal
from gateways.zeebe.commands import ZeebeCommands
from persistence.repositories.claims import ClaimRow
from persistence.store import Store
from workers.claims.confirmation import confirmed
from workers.claims.finding import find_claim
from workers.claims.incidents import StuckClaims
from workers.claims.messages import KEEP_WISH, ClaimMessages
from workers.claims.ordering import Subject, ordered
from workers.payers.waking import KEEP as KEEP_WAKE_UP

RETRY_NOW = "retry-now"


@dataclass(frozen=True, slots=True)
class ClaimSteering:
    """Carries orders out, and waits for what comes of them."""

    store: Store
    commands: ZeebeCommands
    clock: Clock

    async def wake(self, claim_id: ClaimId, given: Attribution) -> ClaimRow:
        """Send a waiting claim as soon as its payer takes it; the claim after that."""
        waiting = await self._messages.waiting(claim_id)
        now = await self.clock.now()
        async with ordered(self.store, RETRY_NOW, Subject(claim_id.value), given, now):
            await self._messages.wake(waiting)
            return await confirmed(self.store, waiting, kept=KEEP_WAKE_UP)

    async def cancellable(self, claim_id: ClaimId, *, although_sent: bool) -> ClaimRow:
        """The claim, if it may be cancelled now."""
        found = await find_claim(self.store, claim_id)
        if found.incident is None:
            return await self._messages.cancellable(claim_id, although_sent=although_sent)
        await self._stuck.cancellable(found, although_sent=although_sent)
        return found

    async def cancel(self, found: ClaimRow, given: Attribution, *, although_sent: bool) -> None:
        """End a claim that may be cancelled, for good."""
        now = await self.clock.now()
        async with ordered(self.store, CANCEL, Subject(found.claim_id), given, now) as order_id:
            await self._cancel(found, order_id, although_sent=although_sent)

    async def _cancel(self, found: ClaimRow, order_id: int, *, although_sent: bool) -> None:
        claim = ClaimId(found.claim_id)
        if found.incident:
            now = await self.clock.now()
            await self._stuck.cancel(found, now, although_sent=although_sent, order_id=order_id)
        else:
            await self._messages.cancel(claim, although_sent=although_sent, order_id=order_id)
        ended = await confirmed(self.store, found, kept=KEEP_WISH, done=lambda row: row.state.is_final)
        if ended.state is not ClaimState.CANCELLED:
            raise ClaimRefusal(f"{claim} was not cancelled: it is {ended.state}.")

    @property
    def _messages(self) -> ClaimMessages:
        return ClaimMessages(self.store, self.commands)

    @property
    def _stuck(self) -> StuckClaims:
        return StuckClaims(self.store, self.commands)
