"""Orders of people in a worker's log: commands write them down, and every worker that runs tells of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from domain.redaction import redact
from persistence.encryption.cipher import Cipher
from persistence.repositories.operator_orders import KeptOrder
from persistence.store import Store
from workers.app.tracing.job_ids import told_claim
from workers.runtime.beside import beside

LOOK_SECONDS = 15.0
ORDERS_AT_MOST = 1_000
log = structlog.get_logger(__name__)


class OrderLog:
    """Tells of each order once, and once more if it was refused; what was there before is not news."""

    def __init__(self, store: Store, cipher: Cipher) -> None:
        self._store = store
        self._cipher = cipher
        self._begin: int | None = None
        self._told: dict[int, bool] = {}
        self._trouble: str | None = None

    async def run(self, look_seconds: float) -> None:
        """Look again and again until cancelled; whatever is wrong, the worker goes on."""
        while True:
            try:
                await self.look()
                self._trouble = None
            except Exception as error:
                self._tell_trouble(type(error).__name__)  # its text may quote data
            await asyncio.sleep(look_seconds)

    async def look(self) -> None:
        """Tell of what is new."""
        found = await self._store.look(lambda tx: tx.orders.newest(ORDERS_AT_MOST))
        if self._begin is None:
            self._begin = max((order.order_id for order in found), default=0)
        new = [order for order in found if order.order_id > self._begin]
        for order in new:
            self._tell(order, self._told)
        self._told = {order.order_id: order.refused_at is not None for order in new}

    def _tell(self, order: KeptOrder, told: dict[int, bool]) -> None:
        subject = {"claim": told_claim(order.claim_id, self._cipher), "payer": redact(order.payer_id) or None}
        named = {"order": order.order_id, "action": order.action, **subject}
        if order.order_id not in told:
            log.warning("order_given", by=redact(order.ordered_by), why=redact(order.reason), **named)
        if order.refused_at and not told.get(order.order_id, False):
            log.warning("order_refused", **named)

    def _tell_trouble(self, trouble: str) -> None:
        if trouble != self._trouble:
            log.warning("orders_not_read", error=trouble)
        self._trouble = trouble


@asynccontextmanager
async def orders_told(
    store: Store, cipher: Cipher, look_seconds: float = LOOK_SECONDS
) -> AsyncIterator[None]:
    """Tell of orders beside a block."""
    async with beside(OrderLog(store, cipher).run(look_seconds)):
        yield
