"""Text of others is shown, never obeyed: no markup, no control sequence reaches a terminal."""

import ast
from collections.abc import Sequence
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import workers.cli
from domain.claim_state import ClaimState
from domain.legible import printable
from domain.payer_status import PayerState, PayerStatus
from persistence.repositories.claims import ClaimRow
from persistence.repositories.journal import JournalEntry
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.terminal import Terminal, terminal
from workers.cli.output import say, tell
from workers.cli.tables import print_table
from workers.demo.samples import samples
from workers.demo.snapshot import Snapshot, draw
from workers.demo.summary import summary

__all__ = ["terminal"]
HOSTILE = "[/] [bold red]x[/bold red] \x1b[2J\x1b]0;owned\x07 \x9b31m \u202egnp.exe \r\nnext"
OBEYED = ("\x1b", "\x07", "\x9b", "\u202e", "\r")


def drawn(rows: Sequence[Sequence[str]], *, width: int, terminal: bool) -> str:
    out = StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None)
    print_table(("claim", "reason"), rows, console)
    return out.getvalue()


@given(st.text(), st.sampled_from([30, 80, 400]), st.booleans())
def test_a_table_shows_any_text_and_obeys_none(cell: str, width: int, terminal: bool) -> None:
    lines = drawn([("CLM-[/]-1", cell)], width=width, terminal=terminal)
    assert "CLM-[/]-1" in lines
    assert all(character == "\n" or character.isprintable() for character in lines)


def test_a_cell_with_line_ends_stays_one_row_in_a_pipe() -> None:
    assert len(drawn([("CLM-1-1", "first\nsecond\rthird")], width=80, terminal=False).splitlines()) == 2


@given(st.text())
def test_a_line_is_said_as_it_is_and_obeyed_nowhere(text: str) -> None:
    out = StringIO()
    say(Console(file=out, width=80, force_terminal=True), text)
    assert all(character in "\n\t\xa0" or character.isprintable() for character in out.getvalue())


def test_a_lone_surrogate_can_be_printed(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    tell("claim \ud800")
    assert capsysbinary.readouterr().out == b"claim \\ud800\n"


@given(st.text())
def test_what_is_printable_stays_as_it_is(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert not text.isprintable() or printable(text) == text


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_every_list_and_look_shows_hostile_rows(terminal: Terminal, store: Store) -> None:
    claim, of_before = "CLM-1-1", "CLM-[/]-1"
    async with store.transaction() as tx:
        await tx.payers.lock(payer := "[/red]\x1b[2J", now=NOW)
        await tx.payers.save(PayerStatus(payer, NOW, PayerState.PAUSED, HOSTILE))
        for hostile in (claim, of_before):
            await tx.claims.put(hostile, payer, ClaimState.FAILED, now=NOW)
            await tx.claims.move(hostile, ClaimState.IN_REVIEW, now=NOW, reason=HOSTILE)
            await tx.journal.write(hostile, "failed", HOSTILE, now=NOW)
    for command in (("claim", "list"), ("claim", "show", claim), ("payer", "list"), ("payer", "show", payer)):
        code, out, err = await terminal.run(*command)
        assert (code, err) == (0, "")
        assert "[/]" in out
        assert [sign for sign in OBEYED if sign in out] == []


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_a_refusal_that_quotes_what_was_typed_obeys_nothing_of_it(terminal: Terminal) -> None:
    for command in (("payer", "show", HOSTILE), ("claim", "show", HOSTILE), ("audit", "show", HOSTILE)):
        code, out, err = await terminal.run(*command)
        assert code in (1, 2)
        assert [sign for sign in OBEYED if sign in out + err] == []


def test_the_command_line_prints_through_one_door() -> None:
    folder = Path(workers.cli.__file__).parent
    for file in sorted(folder.glob("*.py")):
        calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        echoes = [call.lineno for call in calls if ast.unparse(call.func) in ("typer.echo", "print")]
        assert (file.name, echoes) == (file.name, [] if file.name != "output.py" else echoes)


def test_the_shows_live_view_and_summary_take_any_claim_and_reason() -> None:
    due = NOW + timedelta(hours=1)
    waits = ClaimRow("CLM-[/]-1", "[/]", ClaimState.WAITING, 1, due, None, HOSTILE, NOW)
    ended = ClaimRow("CLM-DEMO-1001", "[/]", ClaimState.ACCEPTED, 1, None, "[/]", HOSTILE, NOW)
    entries = (JournalEntry(1, "CLM-[/]-1", NOW, "failed", HOSTILE),)
    console = Console(file=StringIO(), width=200, record=True)
    console.print(draw(Snapshot(NOW, NOW, (waits, ended), entries), rows=40))
    console.print(summary(samples(), (waits, ended), {}))
    shown = console.export_text()
    assert "CLM-[/]-1" in shown
    assert [sign for sign in OBEYED if sign in shown] == []
