"""What people may order: hold a payer's claims, let them go again, open its breaker."""

from collections.abc import Callable
from datetime import datetime

from domain import breaker
from domain.errors import Trouble
from domain.payer_status import PayerState, PayerStatus
from domain.redaction import redact
from persistence.store import Transaction
from workers.payers.admission import PayerChange, replanned
from workers.payers.waking import Waker

Order = Callable[[PayerStatus], PayerStatus]


class UnknownPayer(Trouble):
    """Nobody here knows this payer."""


class StaysStopped(Trouble):
    """The payer refused our credentials: only `resume` changes anything about it."""


async def pause(
    waker: Waker, payer_id: str, reason: str, until: datetime | None, now: datetime
) -> PayerChange:
    """Hold all claims of the payer, until a moment or until `resume`; one that is stopped stays so."""
    if until is not None and until <= now:
        raise Trouble(f"--until {until.isoformat()} is past: give a moment that is still to come.")
    why = redact(reason)
    return await _hold(waker, payer_id, now, lambda status: breaker.paused(status, why, until, now))


async def resume(waker: Waker, payer_id: str, now: datetime) -> PayerChange:
    """Let claims go again; whoever waits is woken."""
    change = await _order(waker, payer_id, now, lambda status: breaker.resumed(status, now))
    await waker.wake(payer_id, now)
    return change


async def trip(waker: Waker, payer_id: str, reason: str, now: datetime) -> PayerChange:
    """Open the breaker, as an outage would: it tries again by itself; one that is stopped stays so."""
    why, limits = redact(reason), waker.book.of(payer_id)
    return await _hold(waker, payer_id, now, lambda status: breaker.tripped(status, why, limits, now))


async def require(tx: Transaction, waker: Waker, payer_id: str) -> None:
    """Refuse a payer that has no settings here and never was sent to."""
    if payer_id not in waker.book.settings and await tx.payers.find(payer_id) is None:
        raise unknown(payer_id)


def unknown(payer_id: str) -> UnknownPayer:
    """The refusal for a payer nobody here knows."""
    return UnknownPayer(f"Payer {payer_id} is not known here: see `reenvio payer list`.")


async def _hold(waker: Waker, payer_id: str, now: datetime, order: Order) -> PayerChange:
    change = await _order(waker, payer_id, now, order)
    if change.after.state is PayerState.STOPPED:
        raise StaysStopped(
            f"Payer {payer_id} stays stopped, as it refused our credentials ({change.after.reason}): "
            f"nothing goes to it until you correct them and run `reenvio payer resume {payer_id}`."
        )
    return change


async def _order(waker: Waker, payer_id: str, now: datetime, order: Order) -> PayerChange:
    return await waker.store.run(lambda tx: _obey(tx, waker, payer_id, now, order))


async def _obey(tx: Transaction, waker: Waker, payer_id: str, now: datetime, order: Order) -> PayerChange:
    await require(tx, waker, payer_id)
    before = await tx.payers.lock(payer_id, now=now)
    after = await replanned(tx, before, order(before), waker.book.of(payer_id), now)
    await tx.payers.save(after)
    return PayerChange(before, after)
