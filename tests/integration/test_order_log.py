"""Orders that people give by commands stand in the log of every worker that runs."""

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.operator_orders import OperatorOrder
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.waiting import eventually
from workers.app.order_log import OrderLog, orders_told

CPF = "529.982.247-25"
CIPHER = cipher_of(new_key("k1"))


async def order(store: Store, action: str, **about: str) -> int:
    given = OperatorOrder(action, "ana", about.pop("reason", "maintenance"), **about)
    return await store.run(lambda tx: tx.orders.keep(given, now=NOW))


@pytest.mark.parametrize("action", ["pause", "resume", "trip"])
async def test_an_order_about_a_payer_is_told_once(store: Store, action: str) -> None:
    log = OrderLog(store, CIPHER)
    await order(store, "pause", payer_id="before")
    await log.look()
    with capture_logs() as lines:
        number = await order(store, action, payer_id="sul")
        for _ in range(2):
            await log.look()
    assert lines == [
        {
            "event": "order_given",
            "log_level": "warning",
            "order": number,
            "action": action,
            "claim": None,
            "payer": "sul",
            "by": "ana",
            "why": "maintenance",
        }
    ]


async def test_an_order_that_is_refused_later_is_told_as_refused_once(store: Store) -> None:
    log = OrderLog(store, CIPHER)
    await log.look()
    with capture_logs() as lines:
        number = await order(store, "cancel", claim_id="CLM-1-1")
        await log.look()
        await store.run(lambda tx: tx.orders.refused(number, now=NOW))
        for _ in range(2):
            await log.look()
    assert [(line["event"], line["claim"], line["order"]) for line in lines] == [
        ("order_given", "CLM-1-1", number),
        ("order_refused", "CLM-1-1", number),
    ]


async def test_no_line_of_an_order_holds_a_persons_number(store: Store) -> None:
    log = OrderLog(store, CIPHER)
    await log.look()
    with capture_logs() as lines:
        await order(store, "resolve", claim_id="CLM-52998224725-1", reason=f"asked by {CPF}")
        await log.look()
    assert len(lines) == 1
    assert CPF not in str(lines)
    assert "52998224725" not in str(lines)


async def test_a_worker_tells_of_orders_while_it_runs_and_that_it_cannot_read_them_once(
    store: Store, database: AsyncEngine
) -> None:
    """Its first look only learns what was there before; each later one finds an order more."""

    async def one_more_is_told() -> bool:
        await order(store, "pause", payer_id="sul")
        return any(line["event"] == "order_given" for line in lines)

    async def is_troubled() -> bool:
        return bool(lines[-1]["event"] == "orders_not_read")

    with capture_logs() as lines:
        async with orders_told(store, CIPHER, look_seconds=0.01):
            await eventually(one_more_is_told, 60)
            async with database.begin() as connection:
                await connection.execute(text("ALTER TABLE operator_orders RENAME TO put_away"))
            await eventually(is_troubled, 60)
    assert [line["event"] for line in lines].count("orders_not_read") == 1
