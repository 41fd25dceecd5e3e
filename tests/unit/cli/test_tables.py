"""Tables of the command line lose nothing: neither in a pipe nor in a narrow terminal."""

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from workers.cli.tables import print_table

NAMES = ("claim", "payer", "state", "retries", "next send", "protocol", "reason", "team")
ID = "CLM-302147-12345678000190-2025110001"
REASON = "the payer does not answer [number]; after five outages in a row all claims to it wait"
ROW = (ID, "302147", "FAILED (incident)", "3", "2026-11-16T20:15:31+00:00", "P-4711", REASON, "REGISTRATION")


def printed(*rows: tuple[str, ...], width: int, terminal: bool) -> list[str]:
    out = StringIO()
    print_table(NAMES, rows, Console(file=out, width=width, force_terminal=terminal, color_system=None))
    return out.getvalue().splitlines()


@given(st.integers(20, 400))
def test_in_a_pipe_every_row_is_one_line_with_every_cell_whole(width: int) -> None:
    head, line = printed(ROW, width=width, terminal=False)
    assert head.split() == " ".join(NAMES).split()
    assert [line.find(cell) >= 0 for cell in ROW] == [True] * len(ROW)
    assert "│" not in head + line


@given(st.integers(60, 400))
def test_in_a_terminal_of_any_width_nothing_is_cut_short(width: int) -> None:
    lines = printed(ROW, width=width, terminal=True)
    text = "\n".join(lines)
    for cell in (ID, "302147", "FAILED (incident)", "2026-11-16T20:15", "P-4711", "REGISTRATION"):
        assert cell in text
    for word in REASON.split():
        assert word in text
    assert "…" not in text


@pytest.mark.parametrize(
    ("width", "bordered", "time"), [(400, True, "20:15:31+00:00"), (150, False, "20:15Z")]
)
def test_a_narrow_terminal_first_loses_borders_and_seconds(width: int, bordered: bool, time: str) -> None:
    lines = printed(ROW, width=width, terminal=True)
    text = "\n".join(lines)
    assert ("│" in text, time in text) == (bordered, True)
    assert max(map(len, lines)) <= width
