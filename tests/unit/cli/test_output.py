"""Progress: a bar on a terminal, a line per change elsewhere; words of others are shown and never obeyed."""

import pytest

from workers.cli.output import bar


def test_elsewhere_than_on_a_terminal_each_change_of_words_is_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with bar("Sending again", 10) as advance:
        for done, words in ((1, "wave 1"), (2, "wave 1"), (5, "wave 2")):
            advance(done, words)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["Sending again: 1 of 10, wave 1", "Sending again: 5 of 10, wave 2"]


def test_a_terminal_gets_a_bar_that_shows_markup_and_control_characters_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with bar("Sending again", 10) as advance:
        advance(5, "[red]wave\x07 1")
    shown = capsys.readouterr().err
    assert "Sending again" in shown
    assert "50%" in shown
    assert "[red]wave" in shown
    assert "\x07" not in shown
