"""Wakes waiting claims when their payer is ready for them: one to try, then each shortly before its slot."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from bpmn.names import Message
from domain.errors import Trouble
from gateways.zeebe.commands import ProcessMessage, ZeebeCommands
from persistence.store import Store, Transaction
from workers.payers.admission import LockedPayer, PayerChange, locked
from workers.payers.limits import LimitsByPayer

WakeUp = Callable[[str], Awaitable[None]]
AHEAD = timedelta(minutes=6)  # a little more than from one probe run to the next
AT_MOST = 500
KEEP = timedelta(seconds=10)  # longer, and it could wake the claim from its next wait
AGAIN_AFTER = timedelta(minutes=4)
log = structlog.get_logger(__name__)


async def nobody(_claim_id: str) -> None:
    """Wakes nobody: every claim comes back by its own timer."""


def by_message(commands: ZeebeCommands) -> WakeUp:
    """Wakes by the message that a person's `retry-now` is, too."""

    async def wake_up(claim_id: str) -> None:
        await commands.publish(ProcessMessage(Message.RETRY_NOW, claim_id, {}, KEEP))

    return wake_up


@dataclass(frozen=True, slots=True)
class Waker:
    """Publishes wake-ups; one that was lost with its worker is repeated by a later probe run."""

    store: Store
    limits: LimitsByPayer
    wake_up: WakeUp = nobody

    async def wake(self, payer_id: str, now: datetime) -> int:
        """Wake whoever is due at this payer; returns how many."""
        claims = await self.store.run(lambda tx: self._mark_due(tx, payer_id, now))
        for number, claim_id in enumerate(claims):
            try:
                await self.wake_up(claim_id)
            except Trouble as trouble:
                log.warning("wake_up_failed", payer=payer_id, left=len(claims) - number, why=str(trouble))
                return number
        return len(claims)

    async def after(self, change: PayerChange, now: datetime) -> None:
        """Log what changed, and wake whom it concerns."""
        log_change(change)
        if not change.stays_free:
            await self.wake(change.after.payer_id, now)

    async def _mark_due(self, tx: Transaction, payer_id: str, now: datetime) -> Sequence[str]:
        """Whom to wake, marked as woken; another worker that asks at the same time gets others."""
        claims = await _due(await locked(tx, payer_id, self.limits.of(payer_id), now))
        if claims:
            await tx.payers.woken(claims, now=now)
        return claims


def log_change(change: PayerChange) -> None:
    """A line in the log when the payer's state is another than before."""
    after = change.after
    if change.is_news:
        log.warning("payer_state_changed", payer=after.payer_id, state=after.state, reason=after.reason)


async def _due(payer: LockedPayer) -> Sequence[str]:
    breaker, payers = payer.breaker.aged(), payer.tx.payers
    payer_id, again = breaker.status.payer_id, breaker.now - AGAIN_AFTER
    if breaker.is_free:
        before = breaker.now + AHEAD
        return await payers.due(payer_id, before=before, woken_before=again, limit=AT_MOST)
    places = 0 if breaker.is_barred else breaker.places - await payer.in_flight()
    return await payers.most_urgent(payer_id, woken_before=again, limit=places) if places > 0 else ()
