"""The audit trail begins, signed and noted beside the key, before anything is written into it."""

from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import text

from gateways.clock import WallClock
from gateways.zeebe.connection import Plaintext
from persistence.audit.anchors import Anchor
from persistence.audit.seals import UNSEALED
from persistence.database.engine import close_database, open_database
from persistence.migrations import alembic_config, migrate
from persistence.store import Store
from tests.support.builders import NOW, draft
from tests.support.databases import KEYS
from workers.app.beginnings import note_file, noted_beginning
from workers.app.cluster import Cluster
from workers.app.composition import running
from workers.app.databases import migrate_database, opened_store, opened_trail
from workers.config.settings import Settings, read_settings

NOBODY = Cluster(Plaintext("127.0.0.1:9"), WallClock())


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("REENVIO_HOME", str(tmp_path))
    monkeypatch.setenv("PRACTICE_PAYER", "true")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("ENCRYPTION_KEYS", raising=False)
    return read_settings()


async def beginning(settings: Settings) -> Anchor | None:
    async with opened_store(settings) as store:
        return await store.look(lambda tx: tx.anchors.beginning())


async def test_the_first_start_with_a_key_signs_the_beginning_and_notes_it_beside_the_key(
    settings: Settings,
) -> None:
    await migrate_database(settings)
    assert await beginning(settings) is None  # no key yet
    async with running(settings, NOBODY):
        pass
    begun = await beginning(settings)
    assert begun
    assert begun.signature
    assert noted_beginning(settings) == begun.hash
    assert note_file(settings).stat().st_mode & 0o077 == 0


async def test_so_does_the_first_order_though_no_worker_has_started_yet(settings: Settings) -> None:
    await migrate_database(settings)
    async with opened_trail(settings) as store:
        await store.run(lambda tx: tx.journal.write("CLM-001-1", "ordered", "a test", now=NOW))
    begun = await beginning(settings)
    assert begun
    assert (begun.last_event, noted_beginning(settings)) == (0, begun.hash)


async def test_an_upgrade_signs_what_earlier_versions_wrote(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENCRYPTION_KEYS", KEYS)
    given = read_settings()
    database = open_database(given.database)
    await migrate(database)
    await Store(database, UNSEALED).record(draft())
    async with database.begin() as connection:
        await connection.run_sync(lambda c: command.downgrade(alembic_config(c), "0023"))
    await close_database(database)
    await migrate_database(given)
    begun = await beginning(given)
    assert begun
    assert (begun.events, begun.unsealed) == (6, 6)


async def test_a_later_start_or_migration_makes_no_beginning_where_one_was_removed(
    settings: Settings,
) -> None:
    await migrate_database(settings)
    async with running(settings, NOBODY) as app:
        await app.store.record(draft())
        async with app.store.transaction() as tx:
            for statement in (
                "INSERT INTO audit_permits VALUES ('audit_anchors:DELETE')",
                "DELETE FROM audit_anchors",
                "DELETE FROM audit_permits",
            ):
                await tx._connection.execute(text(statement))
    await migrate_database(settings)
    async with running(settings, NOBODY):
        pass
    assert await beginning(settings) is None
