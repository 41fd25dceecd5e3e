"""What we keep on disk is for its owner only, whatever the umask says and however it was left."""

import asyncio
import os
import stat
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from domain.claim_state import ClaimState
from gateways.file_sink import FileSink
from gateways.sink import OutgoingEvent
from gateways.tiss.exchange import Exchange, trace_into
from gateways.zeebe.engine import EngineConfig, remember_offset
from persistence.database.engine import sqlite_url
from persistence.encryption.keys import KEY_FILE, made_cipher
from persistence.store import Store
from tests.support.command_line import reenvio
from workers.app.databases import migrate_database, opened_store
from workers.app.private_files import keep_private, tell_open_folders
from workers.config.settings import PayerFiles, Settings

NOW = datetime(2026, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_all(*paths: Path) -> None:
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_new_home_its_database_and_the_databases_companions_are_private(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    await migrate_database(settings)
    async with opened_store(settings) as store:
        await store.run(lambda tx: tx.journal.write("CLM-1-1", "x", "y", now=NOW))
        files = sorted(settings.home.iterdir())
        assert [file.name for file in files] == ["reenvio.db", "reenvio.db-shm", "reenvio.db-wal"]
        assert [mode(file) for file in files] == [0o600] * 3
    assert mode(settings.home) == 0o700


async def test_what_was_open_to_others_is_closed_and_told(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    settings = Settings(home=tmp_path / "home", payers=PayerFiles(trace_dir=traces))
    await migrate_database(settings)
    traces.mkdir()
    ours = [settings.home / "events.jsonl", traces / "1-2026-01-12.jsonl"]
    for file in ours:
        file.touch()
    ours.append(settings.home / "reenvio.db")
    open_to_all(*ours)
    with capture_logs() as logs:
        async with opened_store(settings):
            pass
    assert {mode(path) for path in ours} == {0o600}
    told = {entry["path"] for entry in logs if entry["event"] == "made_private"}
    assert told == {str(file) for file in ours}


def test_a_folder_that_was_there_before_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    for bits in (0o755, 0o1777):
        tmp_path.chmod(bits)
        with capture_logs() as logs:
            keep_private(Settings(home=tmp_path))
            tell_open_folders(Settings(home=tmp_path))
        assert (mode(tmp_path), [entry["event"] for entry in logs]) == (bits, ["folder_open_to_others"])


def test_nothing_is_closed_that_a_setting_names_by_mistake(tmp_path: Path) -> None:
    folder, text, linked = tmp_path / "system", tmp_path / "passwd", tmp_path / "linked"
    folder.mkdir()
    for file in (text, linked):
        file.write_text("root:x:0:0")
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "events.jsonl").symlink_to(text)
    (home / "encryption.key").hardlink_to(linked)
    open_to_all(folder, text, linked)
    for database in (folder, text, home / "events.jsonl"):
        keep_private(Settings(home=home, database_url=sqlite_url(database)))
    assert [mode(path) for path in (folder, text, linked)] == [0o755, 0o644, 0o644]


async def test_a_new_events_file_is_private(tmp_path: Path) -> None:
    file = tmp_path / "new" / "events.jsonl"
    await FileSink(file).send([OutgoingEvent("1", "CLM-1-1", "t", "{}", NOW)])
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)


@pytest.mark.parametrize("umask", [0o022, 0])
def test_a_home_that_a_new_key_makes_is_private(tmp_path: Path, umask: int) -> None:
    os.umask(umask)
    home = tmp_path / "home"
    assert reenvio(home, "keys", "add").returncode == 0
    assert (mode(home), mode(home / KEY_FILE)) == (0o700, 0o600)


def test_a_home_that_the_first_key_makes_is_private(tmp_path: Path) -> None:
    made_cipher(tmp_path / "home")
    assert (mode(tmp_path / "home"), mode(tmp_path / "home" / KEY_FILE)) == (0o700, 0o600)


def test_an_engines_folder_and_the_home_above_it_are_private(tmp_path: Path) -> None:
    """`reenvio up` starts the engine first: its folder stands in the home, and brings it along."""
    home = tmp_path / "home"
    remember_offset(EngineConfig(home=home / "engine", cache=tmp_path / "cache"), timedelta(hours=1))
    assert (mode(home), mode(home / "engine")) == (0o700, 0o700)


def test_a_new_trace_is_private(tmp_path: Path) -> None:
    trace_into(tmp_path / "traces", "302147")(Exchange(NOW, "m", "1", "<a/>", "HTTP 200"))
    [file] = (tmp_path / "traces").iterdir()
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_a_database_elsewhere_is_closed_but_not_the_folder_it_stands_in(
    store: Store, tmp_path: Path, url: str
) -> None:
    assert await store.answers()
    open_to_all(tmp_path, tmp_path / "test.db")
    keep_private(Settings(home=tmp_path / "none", database_url=url))
    assert (mode(tmp_path / "test.db"), mode(tmp_path)) == (0o600, 0o755)


async def test_the_locks_of_a_database_in_use_are_kept_when_its_files_are_looked_at_again(
    tmp_path: Path,
) -> None:
    settings = Settings(home=tmp_path)
    await migrate_database(settings)
    async with opened_store(settings) as store, opened_store(settings):
        await store.run(lambda tx: tx.claims.put("CLM-1-1", "p", ClaimState.SUBMITTING, now=NOW))
        for number in (2, 3):  # each look from outside would take itself for the last, and end the log
            seen = await looked_at_from_outside(settings)
            async with store.transaction() as tx:
                await tx.claims.put(f"CLM-1-{number}", "p", ClaimState.SUBMITTING, now=NOW)
            assert seen == number - 1


COUNT = """
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM claims").fetchone()[0])
"""


async def looked_at_from_outside(settings: Settings) -> int:
    """How many claims another process sees."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", COUNT, str(settings.home / "reenvio.db"), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await child.communicate()
    return int(out)
