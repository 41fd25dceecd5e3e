"""Orders about many claims: what one would do, placed, confirmed by a second person, stopped; all on record.

They are about the whole set that a filter describes, whatever a page shows of it. Who places one says which
set they saw: where it has changed since, nothing is done, and they are asked again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from domain.bulk_orders import (
    MOST_ITEMS,
    BulkAction,
    BulkItemState,
    BulkPlan,
    BulkRefusal,
    BulkState,
    PacedPayer,
    planned,
    require_number,
    require_second_person,
    set_mark,
)
from domain.operators import Attribution
from domain.payer_status import PayerState, PayerStatus
from domain.ports import Clock
from domain.slots import UNPACED, opening
from persistence.repositories.bulk_orders import BulkOrder, NewBulkItem, NewBulkOrder
from persistence.repositories.operator_orders import OperatorOrder
from persistence.repositories.review_desk import INCIDENT, DeskFilter, SelectedClaim
from persistence.store import Store, Transaction
from workers.payers.limits import LimitsByPayer


@dataclass(frozen=True, slots=True)
class BulkShare:
    """What one payer has of an order: how many, its pace, when its last claim's turn is, and how it is."""

    payer_id: str
    number: int
    per_minute: int | None
    ends: datetime
    state: PayerState


@dataclass(frozen=True, slots=True)
class BulkPreview:
    """What an order would do now; `left_out` are claims of the set to which it is not done.

    By `mark` the set is known again; `may_be_at_payer` counts claims of it that their payers may have.
    """

    action: BulkAction
    number: int
    left_out: int
    may_be_at_payer: int
    mark: str
    ends: datetime
    shares: tuple[BulkShare, ...]


@dataclass(frozen=True, slots=True)
class BulkWish:
    """What somebody wants done to which claims, as they saw them; `selection` is their list's address."""

    action: BulkAction
    wanted: DeskFilter
    selection: str
    mark: str
    needs_second: bool = False


@dataclass(frozen=True, slots=True)
class Signer:
    """Who orders or confirms something, and why; `login` tells two people apart."""

    login: str
    given: Attribution


@dataclass(frozen=True, slots=True)
class _Chosen:
    claims: Sequence[SelectedClaim]
    left_out: int
    statuses: Mapping[str, PayerStatus]

    @property
    def mark(self) -> str:
        return set_mark([claim.claim_id for claim in self.claims])


@dataclass(frozen=True, slots=True)
class BulkDesk:
    """Takes orders about many claims; whoever runs them works from what is kept here."""

    store: Store
    limits: LimitsByPayer
    clock: Clock

    async def preview(self, action: BulkAction, wanted: DeskFilter) -> BulkPreview:
        """What would be done to how many, and until when."""
        now = await self.clock.now()
        chosen = await self.store.look(lambda tx: _chosen(tx, action, wanted))
        return self._told(action, chosen, now)

    async def place(self, wish: BulkWish, signer: Signer) -> int | BulkPreview:
        """Keep the order, which begins at once or waits for a second person; its id.

        Where the set is another than the one that was seen: what would be done now.
        """
        now = await self.clock.now()

        async def place(tx: Transaction) -> int | BulkPreview:
            await tx.bulk_orders.one_at_a_time()
            chosen = await _chosen(tx, wish.action, wish.wanted)
            require_number(len(chosen.claims))
            if chosen.mark != wish.mark:
                return self._told(wish.action, chosen, now)
            plan = self._plan(wish.action, chosen, now)
            return await _keep(tx, wish, signer, _items(chosen.claims, plan), now)

        return await self.store.run(place)

    async def confirm(self, bulk_id: int, signer: Signer) -> None:
        """A second person lets a proposed order begin."""
        now = await self.clock.now()

        async def confirm(tx: Transaction) -> None:
            order = await _known(tx, bulk_id)
            require_second_person(order.login, signer.login)
            changes = {"confirmed_by": signer.given.by}
            if not await tx.bulk_orders.move(bulk_id, BulkState.PROPOSED, BulkState.RUNNING, **changes):
                raise _not_there()
            await self._replan(tx, order, now)
            await _note(tx, f"bulk {order.action} confirmed", bulk_id, signer, now)

        await self.store.run(confirm)

    async def stop(self, bulk_id: int, signer: Signer) -> None:
        """Withdraw a proposed order, or end one that runs: what has not been done stays undone."""
        now = await self.clock.now()

        async def stop(tx: Transaction) -> None:
            order = await _known(tx, bulk_id)
            end = BulkState.WITHDRAWN if order.state is BulkState.PROPOSED else BulkState.STOPPED
            if order.state.is_over or not await tx.bulk_orders.move(bulk_id, order.state, end, ended_at=now):
                raise _not_there()
            await tx.bulk_orders.skip_rest(bulk_id, now=now)
            await _note(tx, f"bulk {order.action} stopped", bulk_id, signer, now)

        await self.store.run(stop)

    async def _replan(self, tx: Transaction, order: BulkOrder, now: datetime) -> None:
        """Turns count from when it begins."""
        items = await tx.bulk_orders.items(order.bulk_id, MOST_ITEMS, BulkItemState.PENDING)
        payers = [item.payer_id for item in items]
        plan = planned(payers, self._paces(order.action, payers, now), now)
        await tx.bulk_orders.replan(
            order.bulk_id, {item.claim_id: at for item, at in zip(items, plan.due, strict=True)}
        )

    def _plan(self, action: BulkAction, chosen: _Chosen, now: datetime) -> BulkPlan:
        payers = [claim.payer_id for claim in chosen.claims]
        return planned(payers, self._paces(action, payers, now), now)

    def _paces(self, action: BulkAction, payers: Sequence[str], now: datetime) -> Mapping[str, PacedPayer]:
        """What is not sent needs no pace."""
        if not action.sends_again:
            return {}
        limits = {payer: self.limits.of(payer) for payer in set(payers)}
        return {
            payer: PacedPayer(opening(limit, now), limit.interval or UNPACED)
            for payer, limit in limits.items()
        }

    def _told(self, action: BulkAction, chosen: _Chosen, now: datetime) -> BulkPreview:
        plan = self._plan(action, chosen, now)
        last = {claim.payer_id: due for claim, due in zip(chosen.claims, plan.due, strict=True)}
        numbers = Counter(claim.payer_id for claim in chosen.claims)
        shares = tuple(
            BulkShare(payer, number, self.limits.of(payer).per_minute, last[payer], _state(chosen, payer))
            for payer, number in numbers.most_common()
        )
        at_payer = sum(claim.may_be_at_payer for claim in chosen.claims)
        number = len(chosen.claims)
        return BulkPreview(action, number, chosen.left_out, at_payer, chosen.mark, plan.ends, shares)


def _state(chosen: _Chosen, payer: str) -> PayerState:
    known = chosen.statuses.get(payer)
    return known.state if known else PayerState.CLOSED


async def _chosen(tx: Transaction, action: BulkAction, wanted: DeskFilter) -> _Chosen:
    """The claims of the set to which it may be done."""
    if (action is BulkAction.RESOLVE) != (wanted.reason == INCIDENT):
        raise BulkRefusal("not_for_these", "What is ordered does not fit these claims.")
    found = await tx.review_desk.selected(wanted, MOST_ITEMS + 1)
    statuses = {status.payer_id: status for status in await tx.payers.all()}
    kept = [claim for claim in found if _may_be_done(action, claim, statuses)]
    return _Chosen(kept, len(found) - len(kept), statuses)


def _may_be_done(action: BulkAction, claim: SelectedClaim, statuses: Mapping[str, PayerStatus]) -> bool:
    """Nothing is done twice; nothing goes out that its payer may have, or to one that refuses our access."""
    if claim.is_ordered:
        return False
    if not action.sends_again:
        return True
    status = statuses.get(claim.payer_id)
    is_stopped = status is not None and status.state is PayerState.STOPPED
    may_go_twice = claim.may_be_at_payer and action is not BulkAction.RESOLVE
    return not (is_stopped or may_go_twice)


def _items(claims: Sequence[SelectedClaim], plan: BulkPlan) -> Sequence[NewBulkItem]:
    return [
        NewBulkItem(claim.claim_id, claim.payer_id, claim.review_id, position, due)
        for position, (claim, due) in enumerate(zip(claims, plan.due, strict=True), 1)
    ]


async def _keep(
    tx: Transaction, wish: BulkWish, signer: Signer, items: Sequence[NewBulkItem], now: datetime
) -> int:
    state = BulkState.PROPOSED if wish.needs_second else BulkState.RUNNING
    by, reason = signer.given.by, signer.given.reason
    order = NewBulkOrder(wish.action, state, wish.selection, len(items), by, signer.login, reason, now)
    bulk_id = await tx.bulk_orders.place(order, items)
    await _note(tx, f"bulk {wish.action}", bulk_id, signer, now, f" ({len(items)})")
    return bulk_id


async def _note(
    tx: Transaction, action: str, bulk_id: int, signer: Signer, now: datetime, more: str = ""
) -> None:
    """On record and sealed, like every order."""
    reason = f"[{bulk_id}] {signer.given.reason}{more}"
    await tx.orders.keep(OperatorOrder(action, signer.given.by, reason), now=now)


async def _known(tx: Transaction, bulk_id: int) -> BulkOrder:
    order = await tx.bulk_orders.find(bulk_id)
    if order is None:
        raise _not_there()
    return order


def _not_there() -> BulkRefusal:
    return BulkRefusal("moved_on", "There is no such order, or it is over, or somebody was first.")
