"""An order of a person: kept with who and why before it is carried out; one that is refused says so."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime

from domain.errors import Trouble
from domain.operators import Attribution
from gateways.zeebe.refusals import NoAnswerError
from persistence.database.trouble import DatabaseError
from persistence.repositories.journal import JournalNote
from persistence.repositories.operator_orders import ORDERED, REFUSED, OperatorOrder
from persistence.store import Store, Transaction
from workers.claims.confirmation import Unfinished


@dataclass(frozen=True, slots=True)
class Subject:
    """What an order is about; empty: about no claim, about no payer."""

    claim_id: str = ""
    payer_id: str = ""


@asynccontextmanager
async def ordered(
    store: Store, action: str, subject: Subject, given: Attribution, now: datetime
) -> AsyncIterator[int]:
    """Keep the order, then carry it out, by its id; one that is refused says so on record.

    A database that is away in between, or an engine that does not answer, says nothing of what came of it,
    and no more is said on record.
    """
    order = OperatorOrder(action, given.by, given.reason, subject.claim_id, subject.payer_id)
    order_id = await store.run(lambda tx: _keep(tx, order, now))
    try:
        yield order_id
    except (Unfinished, NoAnswerError, DatabaseError):
        raise
    except Trouble:
        with suppress(Trouble):
            await store.run(lambda tx: _refuse(tx, order, order_id, now))
        raise


async def _keep(tx: Transaction, order: OperatorOrder, now: datetime) -> int:
    if order.claim_id:
        await tx.journal.write_all([JournalNote(order.claim_id, now, ORDERED, str(order))])
    return await tx.orders.keep(order, now=now)


async def _refuse(tx: Transaction, order: OperatorOrder, order_id: int, now: datetime) -> None:
    await tx.orders.refused(order_id, now=now)
    if order.claim_id:
        await tx.journal.write(order.claim_id, REFUSED, f"nothing came of it: {order}", now=now)
