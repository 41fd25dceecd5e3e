"""The shipped roles of PostgreSQL: workers append, retention removes what is old, neither does more."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.retention import YEAR, Periods
from persistence.database.engine import close_database, open_database
from persistence.database.trouble import DatabaseError
from persistence.repositories.operator_orders import OperatorOrder
from persistence.store import Store
from persistence.tables import audit_events
from tests.support.builders import CLAIM, NOW, draft
from tests.support.database_roles import ROLES, RoleUrls, run_script, with_roles
from tests.support.databases import SEALS
from workers.upkeep.retention import apply, set_due_anchors

pytestmark = pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
Opened = Callable[[str], AsyncEngine]
FORBIDDEN = (
    "UPDATE audit_events SET data = ''",
    "DELETE FROM audit_events",
    "TRUNCATE audit_events",
    "UPDATE audit_anchors SET pruned_at = now()",
    "DELETE FROM audit_anchors",
    "INSERT INTO audit_permits VALUES ('audit_events:DELETE')",
    "UPDATE policies SET document = ''",
    "DELETE FROM retry_decisions",
    "DELETE FROM claim_events",
    "UPDATE claim_events SET detail = ''",
    "UPDATE operator_orders SET ordered_by = 'mallory'",
    "UPDATE operator_orders SET reason = '', refused_at = now()",
    "DELETE FROM operator_orders",
    "DELETE FROM claims",
    "DELETE FROM outbox",
    "UPDATE alembic_version SET version_num = '0001'",
    "DROP TRIGGER audit_events_append_only ON audit_events",
    "ALTER TABLE audit_events DISABLE TRIGGER ALL",
    "ALTER TABLE audit_events DISABLE ROW LEVEL SECURITY",
    "CREATE TABLE mine (n int)",
    "SET session_replication_role = replica",
)
NOT_FOR_RETENTION = (
    "UPDATE audit_events SET data = ''",
    "TRUNCATE audit_events",
    "DELETE FROM audit_anchors",
    "UPDATE audit_anchors SET digest = ''",
    "INSERT INTO audit_events SELECT * FROM audit_events",
    "UPDATE claims SET state = 'ACCEPTED'",
    "DELETE FROM payer_status",
    "DROP TRIGGER audit_events_append_only ON audit_events",
)
OLD = NOW - 6 * YEAR
"""More than five years ago by any clock."""


@pytest.fixture
async def roles(url: str) -> AsyncIterator[RoleUrls]:
    async with with_roles(url) as urls:
        yield urls


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[AsyncEngine]:
    engine = open_database(url)
    yield engine
    await close_database(engine)


async def refused(engine: AsyncEngine, statement: str) -> bool:
    try:
        async with engine.begin() as connection:
            await connection.execute(text(statement))
    except DBAPIError as error:
        return getattr(error.orig, "sqlstate", None) == "42501"
    return False


@pytest.mark.parametrize("statement", FORBIDDEN)
async def test_the_workers_role_cannot(roles: RoleUrls, store: Store, statement: str) -> None:
    await store.record(draft())
    async with opened(roles.workers) as engine:
        assert await refused(engine, statement)


@pytest.mark.parametrize("statement", NOT_FOR_RETENTION)
async def test_the_retention_role_cannot(roles: RoleUrls, store: Store, statement: str) -> None:
    await store.record(draft())
    async with opened(roles.retention) as engine:
        assert await refused(engine, statement)


async def test_the_workers_role_may_say_that_an_order_was_refused(roles: RoleUrls) -> None:
    async with opened(roles.workers) as engine:
        store = Store(engine, SEALS)
        order = OperatorOrder("pause", "ana", "why", payer_id="302147")
        number = await store.run(lambda tx: tx.orders.keep(order, now=NOW))
        await store.run(lambda tx: tx.orders.refused(number, now=NOW))
        async with store.reading() as tx:
            assert [problem async for problem in tx.verification.problems(NOW)] == []


async def events(store: Store) -> set[str]:
    async with store.reading() as tx:
        return {event.claim_id for event in await tx.audit.page(("", 0))}


async def test_retention_removes_what_is_old_under_its_own_role_and_the_trail_stays_whole(
    roles: RoleUrls,
) -> None:
    async with opened(roles.workers) as for_workers, opened(roles.retention) as for_retention:
        workers, remover = Store(for_workers, SEALS), Store(for_retention)
        await workers.record(draft("CLM-1-1", now=OLD))
        await workers.record(draft("CLM-2-2", now=NOW))
        await workers.run(lambda tx: tx.anchors.set(OLD.date(), now=OLD + YEAR / 365))
        removed = await apply(remover, Periods(), NOW)
        assert (removed["audit events"], removed["decisions"]) == (6, 1)
        assert await events(workers) == {"CLM-2-2"}
        await workers.run(lambda tx: tx.anchors.begin(NOW))  # no worker ran in the years between
        async with workers.reading() as tx:
            assert [problem async for problem in tx.verification.problems(NOW)] == []


async def test_not_even_retention_removes_audit_events_before_five_years_whatever_time_it_thinks_it_is(
    roles: RoleUrls, store: Store
) -> None:
    await store.record(draft())
    await set_due_anchors(store, NOW + YEAR / 365)
    async with opened(roles.retention) as for_retention:
        removed = await apply(Store(for_retention), Periods(), NOW + 60 * YEAR)
    assert removed["audit events"] == 0
    assert await events(store) == {CLAIM}


async def test_the_workers_role_is_told_what_to_set_when_it_should_remove(
    roles: RoleUrls, store: Store
) -> None:
    async with opened(roles.workers) as engine:
        with pytest.raises(DatabaseError, match="RETENTION_DATABASE_URL"):
            await apply(Store(engine), Periods(), NOW)


async def test_the_file_may_be_run_again(roles: RoleUrls, database: AsyncEngine) -> None:
    await run_script(database, ROLES.read_text(encoding="utf-8"))
    async with opened(roles.workers) as engine, engine.connect() as connection:
        assert (await connection.execute(select(audit_events))).all() == []
