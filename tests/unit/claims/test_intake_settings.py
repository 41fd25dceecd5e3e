"""Settings of the intake: tokens are long, and without them nothing listens."""

import pytest

from domain.access import Role, permissions_of
from workers.api.systems import ApiSystem, TokenCheck
from workers.config.intake import SystemToken
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


def test_each_of_several_tokens_is_known_by_its_name_and_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKENS", f"{ONE}, noc:operations+viewer:{TWO}")
    check = TokenCheck(read_settings().api.accepted_tokens)
    first, second = check.who(f"Bearer {ONE}"), check.who(f"bearer {TWO}")
    assert first == ApiSystem("system-1", permissions_of({Role.INTAKE}))
    assert second == ApiSystem("noc", permissions_of({Role.OPERATIONS, Role.VIEWER}))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"erp:king:{ONE}", "erp has a role that there is not"),
        (f"erp::{ONE}", "erp has a role that there is not"),
        (f"erp:intake:{ONE},erp:viewer:{TWO}", "the same name"),
        (f"erp:intake:{ONE},noc:viewer:{ONE}", "the same token"),
    ],
)
def test_systems_that_cannot_be_told_apart_are_refused(
    monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    monkeypatch.setenv("API_TOKENS", text)
    with pytest.raises(SettingsError, match=why) as refused:
        read_settings()
    assert ONE not in str(refused.value)


@pytest.mark.parametrize("header", [None, "", ONE, f"Basic {ONE}", "Bearer", f"Bearer {ONE}x", "Bearer é"])
def test_anything_else_stays_outside(header: str | None) -> None:
    tokens = [SystemToken(name, frozenset({Role.INTAKE}), name) for name in (ONE, TWO)]
    assert TokenCheck(tokens).who(header) is None
