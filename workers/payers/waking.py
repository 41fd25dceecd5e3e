"""Wakes waiting claims when their payer is ready for them: one to try, then each shortly before its slot."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from bpmn.names import Message
from domain.breaker import aged, is_free
from domain.errors import Trouble
from domain.payer_status import PayerLimits, PayerState, PayerStatus
from domain.slots import latest, opening
from gateways.zeebe.commands import ProcessMessage, ZeebeCommands
from persistence.store import Store, Transaction
from workers.payers.admission import PayerChange
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
    book: LimitsByPayer
    wake_up: WakeUp = nobody

    async def wake(self, payer_id: str, now: datetime) -> int:
        """Wake whoever is due at this payer; returns how many."""
        limits = self.book.of(payer_id)
        claims = await self.store.run(lambda tx: _called(tx, payer_id, limits, now))
        for number, claim_id in enumerate(claims):
            try:
                await self.wake_up(claim_id)
            except Trouble as trouble:
                log.warning("wake_up_failed", payer=payer_id, left=len(claims) - number, why=str(trouble))
                return number
        return len(claims)

    async def after(self, change: PayerChange, now: datetime) -> None:
        """Tell people what changed, and wake whom it concerns."""
        self.tell(change)
        limits = self.book.of(change.after.payer_id)
        if not (is_free(change.before, limits) and is_free(change.after, limits)):
            await self.wake(change.after.payer_id, now)

    def tell(self, change: PayerChange) -> None:
        """A line in the log when the payer's state is another than before."""
        after = change.after
        if change.is_news:
            log.warning("payer_state_changed", payer=after.payer_id, state=after.state, reason=after.reason)


async def _called(tx: Transaction, payer_id: str, limits: PayerLimits, now: datetime) -> Sequence[str]:
    """Whom to wake, marked as woken; another worker that asks at the same time gets others."""
    status = aged(await tx.payers.lock(payer_id, now=now), now)
    claims = await _due(tx, status, limits, now)
    if claims:
        await tx.payers.woken(claims, now=now)
    return claims


async def _due(tx: Transaction, status: PayerStatus, limits: PayerLimits, now: datetime) -> Sequence[str]:
    payer_id, again = status.payer_id, now - AGAIN_AFTER
    if is_free(status, limits):
        return await tx.payers.due(payer_id, before=now + AHEAD, woken_before=again, limit=AT_MOST)
    tries = status.state in (PayerState.HALF_OPEN, PayerState.CLOSED)
    if not tries or opening(limits, latest(now, status.not_before)) > now:
        return ()
    places = limits.trials - await tx.payers.in_flight(payer_id, now=now)
    return await tx.payers.most_urgent(payer_id, woken_before=again, limit=places) if places > 0 else ()
