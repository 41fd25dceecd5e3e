"""Settings of the intake: tokens are long, and without them nothing listens."""

import pytest

from workers.api.tokens import TokenCheck
from workers.config.settings import SettingsError, read_settings

ONE, TWO = "a" * 32, "b" * 40


def test_without_tokens_the_interface_refuses_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("API_TOKENS", raising=False)
    with pytest.raises(SettingsError, match="API_TOKENS"):
        _ = read_settings().api.accepted_tokens


@pytest.mark.parametrize("text", ["short", f"{ONE},short", f"{ONE},", ","])
def test_a_short_token_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("API_TOKENS", text)
    with pytest.raises(SettingsError, match="at least 32 characters") as refused:
        read_settings()
    assert ONE not in str(refused.value)


def test_each_of_several_tokens_is_admitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKENS", f"{ONE}, {TWO}")
    check = TokenCheck(read_settings().api.accepted_tokens)
    assert check.admits(f"Bearer {ONE}")
    assert check.admits(f"bearer {TWO}")


@pytest.mark.parametrize("header", [None, "", ONE, f"Basic {ONE}", "Bearer", f"Bearer {ONE}x", "Bearer é"])
def test_anything_else_stays_outside(header: str | None) -> None:
    assert not TokenCheck([ONE, TWO]).admits(header)
