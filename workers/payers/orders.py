"""What people may order: hold a payer's claims, let them go again, open its breaker."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from domain.breaker import Breaker
from domain.errors import Trouble
from domain.outputs import iso_time
from domain.payer_status import PayerState, PayerStatus
from domain.redaction import redact
from persistence.repositories.noting import payer_chain
from persistence.store import Store, Transaction
from workers.payers.admission import PayerChange, locked
from workers.payers.limits import LimitsByPayer
from workers.payers.waking import Waker

Order = Callable[[Breaker], PayerStatus]


class UnknownPayer(Trouble):
    """Nobody here knows this payer."""

    def __init__(self, payer_id: str) -> None:
        super().__init__(f"Payer {payer_id} is not known here: see `reenvio payer list`.")


class StaysStopped(Trouble):
    """The payer refused our credentials: only `resume` changes anything about it."""

    def __init__(self, status: PayerStatus) -> None:
        super().__init__(
            f"Payer {status.payer_id} stays stopped, as it refused our credentials ({status.reason}): "
            "nothing goes to it until you restart every worker with the corrected ones and run "
            f"`reenvio payer resume {status.payer_id}`."
        )


@dataclass(frozen=True, slots=True)
class Orders:
    """Changes payers as people order it."""

    store: Store
    limits: LimitsByPayer
    waker: Waker

    async def pause(
        self, payer_id: str, now: datetime, *, reason: str, until: datetime | None = None
    ) -> PayerChange:
        """Hold all claims of the payer, until a moment or until `resume`; one that is stopped stays so."""
        if until is not None and until <= now:
            raise Trouble(f"--until {until.isoformat()} is past: give a moment that is still to come.")
        return await self._hold(payer_id, now, lambda breaker: breaker.paused(until), reason)

    async def resume(self, payer_id: str, now: datetime) -> PayerChange:
        """Let claims go again; whoever waits is woken."""
        change = await self._change(payer_id, now, Breaker.resumed)
        await self.waker.wake(payer_id, now)
        return change

    async def trip(self, payer_id: str, now: datetime, *, reason: str) -> PayerChange:
        """Open the breaker, as an outage would: it tries again by itself; one that is stopped stays so."""
        return await self._hold(payer_id, now, Breaker.tripped, reason)

    async def require(self, payer_id: str) -> None:
        """Refuse a payer that has no settings here and never was sent to."""
        await self.store.look(lambda tx: self._require(tx, payer_id))

    async def _require(self, tx: Transaction, payer_id: str) -> None:
        if payer_id not in self.limits.settings and await tx.payers.find(payer_id) is None:
            raise UnknownPayer(payer_id)

    async def _hold(self, payer_id: str, now: datetime, order: Order, reason: str) -> PayerChange:
        change = await self._change(payer_id, now, order, reason)
        if change.after.state is PayerState.STOPPED:
            raise StaysStopped(change.after)
        return change

    async def _change(self, payer_id: str, now: datetime, order: Order, reason: str = "") -> PayerChange:
        async def obey(tx: Transaction) -> PayerChange:
            await self._require(tx, payer_id)
            payer = await locked(tx, payer_id, self.limits.of(payer_id), now)
            change = await payer.change(order(payer.breaker))
            await tx.notes.add(payer_chain(payer_id), "changed", _told(change, reason), now=now)
            return change

        return await self.store.run(obey)


def _told(change: PayerChange, reason: str) -> dict[str, object]:
    """What an order changed and why, for the payer's trail."""
    after = change.after
    until = iso_time(after.next_try_at) if after.next_try_at else None
    return {"from": change.before.state, "to": after.state, "reason": redact(reason), "until": until}
