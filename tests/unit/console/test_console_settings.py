"""Where the console may listen: this machine alone, unless it is told its address."""

import pytest

from workers.config.console import ConsoleSettings
from workers.config.settings import SettingsError, read_settings


def test_it_answers_this_machine_alone_by_default() -> None:
    assert ConsoleSettings().is_loopback
    assert not ConsoleSettings().is_encrypted


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.7", "reenvio.example"])  # noqa: S104  # that is the case
def test_others_are_let_in_only_where_its_address_is_known(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv("CONSOLE_HOST", host)
    with pytest.raises(SettingsError, match="CONSOLE_BASE_URL"):
        read_settings()
    monkeypatch.setenv("CONSOLE_BASE_URL", "https://reenvio.example/")
    assert read_settings().console.base_url == "https://reenvio.example"
    assert read_settings().console.is_encrypted


@pytest.mark.parametrize(
    "address", ["reenvio.example", "ftp://x", "https://x/path", "https://", "http://10.0.0.5:8095"]
)
def test_an_address_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("CONSOLE_BASE_URL", address)
    with pytest.raises(SettingsError, match="CONSOLE_BASE_URL"):
        read_settings()


@pytest.mark.parametrize(
    ("given", "as_browsers_name_it"),
    [
        ("https://reenvio.example:443", "https://reenvio.example"),
        ("https://reenvio.example:8443", "https://reenvio.example:8443"),
        ("http://127.0.0.1:8095/", "http://127.0.0.1:8095"),
    ],
)
def test_an_address_is_kept_as_browsers_name_it(
    monkeypatch: pytest.MonkeyPatch, given: str, as_browsers_name_it: str
) -> None:
    monkeypatch.setenv("CONSOLE_BASE_URL", given)
    assert read_settings().console.base_url == as_browsers_name_it
