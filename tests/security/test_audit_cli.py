"""An anchor kept outside, as a person prints it and holds the trail against it later."""

import asyncio
import stat
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.store import Store
from tests.support.audit_attacker import Attacker
from tests.support.builders import draft
from tests.support.terminal import Terminal, terminal

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)  # both is the other tests' part


__all__ = ["terminal"]


async def test_what_was_removed_since_an_anchor_was_printed_is_found_by_it(
    terminal: Terminal, store: Store, database: AsyncEngine, tmp_path: Path
) -> None:
    now = await store.time()
    await store.record(draft("CLM-1-1", now=now))
    await store.record(draft("CLM-2-2", now=now))
    kept = tmp_path / "anchor.json"
    assert (await terminal.run("audit", "anchor", "-o", str(kept)))[0] == 0
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert (await terminal.run("audit", "verify", "--anchor", str(kept)))[0] == 0
    await Attacker(database).remove("CLM-2-2")
    code, said, _ = await terminal.run("audit", "verify", "--anchor", str(kept))
    assert code == 1
    assert "the anchor kept outside: the events that it holds were removed" in said


async def test_a_file_that_is_no_anchor_is_one_line(terminal: Terminal, store: Store, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("[" * 5_000)
    code, _, complaint = await terminal.run("audit", "verify", "--anchor", str(other))
    assert (code, complaint.count("\n")) == (1, 1)
    assert "reenvio audit anchor" in complaint


async def test_an_anchor_without_an_end_is_one_line(terminal: Terminal, store: Store) -> None:
    async with asyncio.timeout(60):
        code, _, complaint = await terminal.run("audit", "verify", "--anchor", "/dev/zero")
    assert (code, complaint.count("\n")) == (1, 1)
    assert "This is no anchor" in complaint


async def test_a_person_signs_a_trail_whose_beginning_is_gone_and_says_why(
    terminal: Terminal, store: Store, database: AsyncEngine
) -> None:
    await store.record(draft("CLM-1-1", now=await store.time()))
    await Attacker(database).sql("DELETE FROM audit_anchors")
    code, said, _ = await terminal.run("audit", "verify")
    assert (code, "it has no beginning" in said) == (1, True)
    code, said, _ = await terminal.run("audit", "begin", "--reason", "looked at with legal", "--yes")
    assert (code, "events before were signed as they were" in said) == (0, True)
    code, said, _ = await terminal.run("audit", "verify")
    assert (code, "The trail begins on" in said) == (0, True)


async def test_a_beginning_that_was_noted_outside_is_missed(
    terminal: Terminal, store: Store, database: AsyncEngine
) -> None:
    await terminal.run("audit", "begin", "--reason", "so that it is noted", "--yes")
    await Attacker(database).sql("DELETE FROM audit_events", "DELETE FROM audit_anchors")
    now = await store.time()
    await store.run(lambda tx: tx.anchors.begin_if_new(now, upgraded=False))
    code, said, _ = await terminal.run("audit", "verify")
    assert code == 1
    assert "was noted outside the database" in said
