"""Carries orders about many claims out, each claim when its turn has come; whoever is up carries on.

An item is taken before anything is done. When its process dies, another takes it again later: what it finds
done by then is done, and what the claim is told a second time in the same review changes nothing.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

import structlog

from domain.bulk_orders import BulkAction, BulkItemState, BulkState, NotDone
from domain.claim import ClaimId
from domain.errors import Trouble
from domain.operators import Attribution, attribution
from domain.payer_status import PayerState
from domain.ports import Clock
from domain.refusals import ClaimRefusal
from domain.reviews import AtPayer
from persistence.repositories.bulk_orders import BulkItem, BulkOrder, ItemEnd
from persistence.repositories.claims import ClaimRow
from persistence.store import Store, Transaction
from workers.claims.confirmation import GotStuck, NotConfirmed
from workers.claims.finding import whether_at_payer
from workers.claims.incidents import StuckClaims
from workers.claims.ordering import Subject, ordered
from workers.claims.reviewing import ClaimReviews, Verdict

AT_ONCE = 16
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 300.0
DONE = ItemEnd(BulkItemState.DONE)
log = structlog.get_logger(__name__)


def _not(why: NotDone) -> ItemEnd:
    return ItemEnd(BulkItemState.REFUSED, why)


@dataclass(frozen=True, slots=True)
class _Found:
    """A claim as it is when its turn has come."""

    claim: ClaimRow | None
    review_id: int | None
    where: AtPayer
    is_stopped: bool


@dataclass(frozen=True, slots=True)
class BulkRunner:
    """Works through all orders that are going on."""

    store: Store
    reviews: ClaimReviews
    stuck: StuckClaims
    clock: Clock

    async def run(self) -> None:
        """For ever; where engine or database are away it tries with one claim, ever more seldom."""
        pause, at_once = PAUSE_SECONDS, AT_ONCE
        while True:
            try:
                done = await self.step(at_once)
                pause, at_once = PAUSE_SECONDS, AT_ONCE
            except Trouble as trouble:
                done, at_once, pause = 0, 1, min(2 * pause, LONGEST_PAUSE_SECONDS)
                log.warning("bulk_orders_wait", why=str(trouble), seconds=pause)
            except Exception as error:
                done, at_once, pause = 0, 1, min(2 * pause, LONGEST_PAUSE_SECONDS)
                log.error("bulk_orders_failed", error=type(error).__name__)  # noqa: TRY400  # may quote a person
            if not done:
                await asyncio.sleep(pause)

    async def step(self, at_once: int = AT_ONCE) -> int:
        """Carry out some whose turn has come, of each order; how many there were."""
        orders = await self.store.look(lambda tx: tx.bulk_orders.going_on())
        running = [order for order in orders if order.state is BulkState.RUNNING]
        return sum([await self._advance(order, at_once) for order in running])

    async def _advance(self, order: BulkOrder, at_once: int) -> int:
        now = await self.clock.now()
        items = await self.store.run(lambda tx: tx.bulk_orders.take(order.bulk_id, now=now, limit=at_once))
        ends = await asyncio.gather(*(self._item(order, item) for item in items), return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end
        if not items and not await self.store.look(lambda tx: tx.bulk_orders.open_claims(order.bulk_id)):
            await self._finish(order)
        return len(items)

    async def _finish(self, order: BulkOrder) -> None:
        now = await self.clock.now()
        states = BulkState.RUNNING, BulkState.DONE
        if await self.store.run(lambda tx: tx.bulk_orders.move(order.bulk_id, *states, ended_at=now)):
            log.info("bulk_order_done", order=order.bulk_id, action=order.action, claims=order.number)

    async def _item(self, order: BulkOrder, item: BulkItem) -> None:
        try:
            end = await self._carried_out(order, item)
        except Trouble:
            await self.store.run(lambda tx: tx.bulk_orders.give_back(item))
            raise
        except Exception as error:
            log.error("bulk_item_failed", claim=item.claim_id, error=type(error).__name__)  # noqa: TRY400
            end = _not(NotDone.REFUSED)
        now = await self.clock.now()
        await self.store.run(lambda tx: tx.bulk_orders.ended(item, end, now=now))

    async def _carried_out(self, order: BulkOrder, item: BulkItem) -> ItemEnd:
        found = await self.store.look(lambda tx: _found(tx, item))
        if found.claim is None:
            return _not(NotDone.MOVED_ON)
        if order.action is BulkAction.RESOLVE:
            return await self._resolved(order, item, found.claim)
        return _obstacle(order, item, found) or await _told(self._decide(order, item))

    async def _decide(self, order: BulkOrder, item: BulkItem) -> None:
        decision = order.action.decision
        if decision is None:
            raise LookupError("no decision belongs to this")
        await self.reviews.decide(ClaimId(item.claim_id), Verdict(decision), signed(order), patient=False)

    async def _resolved(self, order: BulkOrder, item: BulkItem, claim: ClaimRow) -> ItemEnd:
        if claim.incident is None:
            return DONE if item.taken_at else _not(NotDone.MOVED_ON)
        return await _told(self._resolve(order, claim))

    async def _resolve(self, order: BulkOrder, claim: ClaimRow) -> None:
        await self.stuck.resolvable(claim)
        now, subject = await self.clock.now(), Subject(claim.claim_id)
        async with ordered(self.store, "resolve", subject, signed(order), now) as order_id:
            await self.stuck.resolve(claim, now, {}, order_id=order_id)


def signed(order: BulkOrder) -> Attribution:
    """Who and why, as it stands with each claim: with the order's number, and who has confirmed it."""
    second = f", {order.confirmed_by}" if order.confirmed_by else ""
    return attribution(order.ordered_by, f"{order.reason} [{order.bulk_id}{second}]")


async def _found(tx: Transaction, item: BulkItem) -> _Found:
    claim = await tx.claims.find(item.claim_id)
    status = await tx.payers.find(item.payer_id)
    return _Found(
        claim,
        await tx.review_desk.open_review(item.claim_id),
        await whether_at_payer(tx, item.claim_id),
        is_stopped=status is not None and status.state is PayerState.STOPPED,
    )


def _obstacle(order: BulkOrder, item: BulkItem, found: _Found) -> ItemEnd | None:
    """Why a claim is not told; one that was taken before and has left its review was told then."""
    if found.claim and found.claim.incident:
        return _not(NotDone.ON_INCIDENT)
    if found.review_id != item.review_id:
        return DONE if item.taken_at else _not(NotDone.MOVED_ON)
    if order.action.sends_again and found.where is not AtPayer.NO:
        return _not(NotDone.AT_PAYER)
    return _not(NotDone.PAYER_STOPPED) if order.action.sends_again and found.is_stopped else None


async def _told(work: Awaitable[None]) -> ItemEnd:
    try:
        await work
    except NotConfirmed:
        return ItemEnd(BulkItemState.UNCONFIRMED)
    except GotStuck:
        return _not(NotDone.ON_INCIDENT)
    except ClaimRefusal:
        return _not(NotDone.REFUSED)
    return DONE
