"""`reenvio policy what-if | adopt | undo | history` as a person runs them, and whom `decide` follows."""

import json
from pathlib import Path

import pytest

from persistence.store import Store
from tests.support.builders import NOW
from tests.support.console_scene import ConsoleScene
from tests.support.terminal import Terminal, terminal
from workers.policy.file import default_text
from workers.policy.writing import changed

__all__ = ["terminal"]
pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
DECIDE = ("decide", "--claim-id", "CLM-1-1", "--error", "TIMEOUT", "--json")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "four.toml"
    path.write_text(changed(default_text(), {"version": "2", "limits.max_retries": 4}), encoding="utf-8")
    return path


@pytest.fixture
def nine(tmp_path: Path) -> Path:
    path = tmp_path / "nine.toml"
    path.write_text(changed(default_text(), {"version": "2", "limits.max_retries": 9}), encoding="utf-8")
    return path


async def test_a_policy_is_adopted_followed_by_decide_and_undone(terminal: Terminal, file: Path) -> None:
    code, _, err = await terminal.run("policy", "adopt", str(file), "--reason", "fewer sends")
    assert (code, "--yes" in err) == (2, True)
    assert "max_retries" in err  # what changes is shown before anybody is asked
    code, out, _ = await terminal.run("policy", "adopt", str(file), "--reason", "fewer sends", "--yes")
    assert (code, "is in force (adoption 1)" in out) == (0, True)
    code, out, err = await terminal.run(*DECIDE)
    assert (code, json.loads(out)["retryReason"]) == (0, "Retry 1 of 4")
    assert "is in force, adopted by" in err
    code, out, err = await terminal.run(*DECIDE, "--policy", str(file))
    assert (code, err) == (0, "")
    code, out, _ = await terminal.run("policy", "history")
    assert (code, "In force: 2+" in out, "fewer sends" in out) == (0, True, True)
    code, _, err = await terminal.run("policy", "adopt", str(file), "--reason", "again", "--yes")
    assert (code, "is in force already" in err) == (2, True)
    code, out, _ = await terminal.run("policy", "undo", "--reason", "too few", "--yes")
    assert (code, "Policy 1+" in out) == (0, True)
    code, out, err = await terminal.run(*DECIDE)
    assert (json.loads(out)["retryReason"], err) == ("Retry 1 of 5", "")
    code, _, err = await terminal.run("policy", "undo", "--reason", "again", "--yes")
    assert (code, "taken back" in err) == (2, True)
    code, out, _ = await terminal.run("audit", "verify")
    assert code == 0, out


async def test_a_file_that_leaves_a_rule_unnamed_is_refused_line_by_line(
    terminal: Terminal, nine: Path
) -> None:
    code, _, err = await terminal.run("policy", "adopt", str(nine), "--reason", "x", "--yes")
    assert (code, "Policy rejected: 9 retries: BIL-004-V1" in err) == (2, True)


async def test_what_if_compares_and_changes_nothing(terminal: Terminal, store: Store, file: Path) -> None:
    code, out, _ = await terminal.run("policy", "what-if", str(file))
    assert (code, "nothing to play" in out) == (0, True)
    await ConsoleScene(store, NOW).everything()
    code, out, _ = await terminal.run("policy", "what-if", str(file), "--per-minute", "10", "--claims", "20")
    assert code == 0
    for told in (
        "retries spent",
        "success_after_retry RN-BIL-004 >= 85 %",
        "end as they really did",
        "cannot know",
    ):
        assert told in out
    assert await store.look(lambda tx: tx.adopted_policies.history(5)) == []
