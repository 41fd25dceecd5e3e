"""Wakes waiting claims when their payer is ready for them: one to try, then page by page by their slots."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from bpmn.names import Message
from domain.errors import Trouble
from domain.observations import Observe, PayerMoved, nobody_watches
from gateways.zeebe.messages import ProcessMessage, Publish
from persistence.store import Store, Transaction
from workers.payers.admission import PayerChange, locked
from workers.payers.limits import LimitsByPayer

WakeUp = Callable[[str], Awaitable[None]]
KEEP = timedelta(seconds=10)  # longer, and it could wake the claim from its next wait
log = structlog.get_logger(__name__)


async def nobody(_claim_id: str) -> None:
    """Wakes nobody: every claim comes back by its own timer."""


def by_message(publish: Publish) -> WakeUp:
    """Wakes by the message that a person's `retry-now` is, too."""

    async def wake_up(claim_id: str) -> None:
        await publish(ProcessMessage(Message.RETRY_NOW, claim_id, {}, KEEP))

    return wake_up


@dataclass(frozen=True, slots=True)
class Waker:
    """Publishes wake-ups; one that was lost with its worker is repeated by a later probe run."""

    store: Store
    limits: LimitsByPayer
    wake_up: WakeUp = nobody
    observe: Observe = nobody_watches

    async def wake(self, payer_id: str, now: datetime) -> int:
        """Give the next slots at this payer and wake whoever got one; returns how many."""
        claims = await self.store.run(lambda tx: self._give_slots(tx, payer_id, now))
        for number, claim_id in enumerate(claims):
            try:
                await self.wake_up(claim_id)
            except Trouble as trouble:
                log.warning("wake_up_failed", payer=payer_id, left=len(claims) - number, why=str(trouble))
                return number
        return len(claims)

    def tell(self, change: PayerChange) -> None:
        """A payer's other state, for those who watch."""
        tell_change(change, self.observe)

    async def _give_slots(self, tx: Transaction, payer_id: str, now: datetime) -> Sequence[str]:
        """Another worker that asks at the same time gets other claims, and later slots."""
        return await (await locked(tx, payer_id, self.limits.of(payer_id), now)).give_slots()


def tell_change(change: PayerChange, observe: Observe) -> None:
    """Tell when the payer's state is another than before."""
    if change.is_news:
        observe(PayerMoved(change.before, change.after))
