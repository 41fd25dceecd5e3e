"""Legal holds, whoever asks for them: nothing of a held claim is removed, however old it is; on record."""

from datetime import datetime

from domain.claim import ClaimId
from domain.operators import Attribution, attribution
from domain.refusals import ClaimRefusal
from domain.undoing import HOLD, RELEASE, may_be_undone
from persistence.repositories.legal_holds import LegalHold
from persistence.repositories.operator_orders import KeptOrder
from persistence.store import Store, Transaction
from workers.claims.ordering import Subject, ordered


async def hold_claim(store: Store, claim_id: ClaimId, given: Attribution, now: datetime) -> bool:
    """Hold everything that is kept about a claim; False when it is held already."""
    if not await store.look(lambda tx: tx.export.knows(claim_id.value)):
        raise ClaimRefusal(f"Nothing is kept about {claim_id} here, so nothing can be held: compare the id.")
    placed = LegalHold(claim_id.value, given.reason, now, given.by)
    async with ordered(store, HOLD, Subject(claim_id.value), given, now):
        return await store.run(lambda tx: tx.holds.place(placed))


async def held_claim(store: Store, claim_id: ClaimId) -> LegalHold:
    """The claim's hold; a refusal when there is none."""
    placed = await store.look(lambda tx: tx.holds.find(claim_id.value))
    if placed is None:
        raise ClaimRefusal(f"{claim_id} is not on hold: see `reenvio retention holds`.")
    return placed


async def release_claim(store: Store, claim_id: ClaimId, given: Attribution, now: datetime) -> None:
    """End a claim's hold: what is past its period goes with the next run of retention."""
    await held_claim(store, claim_id)
    async with ordered(store, RELEASE, Subject(claim_id.value), given, now):
        await store.run(lambda tx: tx.holds.release(claim_id.value, now=now))


async def undo_hold(store: Store, claim_id: ClaimId, undone: tuple[int, Attribution], now: datetime) -> None:
    """Take the order about a hold back, for a while after it, unless another came since."""
    order_id, given = undone
    orders = await store.look(lambda tx: _orders(tx, claim_id))
    if not orders or orders[-1].order_id != order_id or not may_be_undone(orders[-1].at, now):
        raise ClaimRefusal(f"{claim_id}: this was not the last order about its hold, or is too old.")
    if orders[-1].action == HOLD:
        await release_claim(store, claim_id, given, now)
        return
    why = next((one.reason for one in reversed(orders) if one.action == HOLD), "")
    await hold_claim(store, claim_id, attribution(given.by, f"{why} ({given.reason})".lstrip()), now)


async def _orders(tx: Transaction, claim_id: ClaimId) -> list[KeptOrder]:
    found = await tx.orders.about_claim(claim_id.value)
    return [one for one in found if one.action in (HOLD, RELEASE) and one.refused_at is None]
