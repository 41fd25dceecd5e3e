"""Where the console may listen: this machine alone, unless it is told its address."""

import pytest

from domain.access import Role
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


PROVIDER = {
    "CONSOLE_BASE_URL": "https://reenvio.example",
    "CONSOLE_OIDC_ISSUER": "https://login.example/realms/hospital",
    "CONSOLE_OIDC_CLIENT_ID": "reenvio",
    "CONSOLE_OIDC_CLIENT_SECRET": "s3cret of the client",
    "CONSOLE_OIDC_ROLES": '{"faturamento": "billing", "ti": ["operations", "admin"]}',
}


def given(monkeypatch: pytest.MonkeyPatch, **changes: str | None) -> None:
    for name, value in {**PROVIDER, **changes}.items():
        if value is not None:
            monkeypatch.setenv(name, value)


def test_a_provider_is_read_with_what_its_groups_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch)
    console = read_settings().console
    assert console.oidc
    assert console.oidc.issuer == "https://login.example/realms/hospital"
    assert console.oidc.roles == {"faturamento": {Role.BILLING}, "ti": {Role.OPERATIONS, Role.ADMIN}}
    assert "s3cret" not in repr(console) + repr(console.oidc)
    assert ConsoleSettings().oidc is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONSOLE_BASE_URL", None),
        ("CONSOLE_OIDC_ISSUER", None),
        ("CONSOLE_OIDC_CLIENT_ID", None),
        ("CONSOLE_OIDC_CLIENT_SECRET", None),
        ("CONSOLE_OIDC_ROLES", None),
        ("CONSOLE_OIDC_ISSUER", "http://login.example"),
        ("CONSOLE_OIDC_ISSUER", "https://user:pass@login.example"),
        ("CONSOLE_OIDC_ISSUER", "https://login.example/?x=1"),
        ("CONSOLE_OIDC_ISSUER", "login.example"),
        ("CONSOLE_OIDC_ROLES", "faturamento"),
        ("CONSOLE_OIDC_ROLES", "{}"),
        ("CONSOLE_OIDC_ROLES", "[]"),
        ("CONSOLE_OIDC_ROLES", '{"faturamento": "chief"}'),
        ("CONSOLE_OIDC_ROLES", '{"faturamento": 7}'),
        ("CONSOLE_OIDC_SCOPES", "profile"),
    ],
)
def test_half_a_provider_or_a_wrong_one_is_refused_by_the_variables_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str | None
) -> None:
    given(monkeypatch, **{name: value})
    with pytest.raises(SettingsError, match="CONSOLE_OIDC_") as refused:
        read_settings()
    assert "s3cret" not in str(refused.value)


def test_passwords_are_switched_off_only_where_another_way_leads_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSOLE_PASSWORD_LOGIN", "false")
    with pytest.raises(SettingsError, match="CONSOLE_PASSWORD_LOGIN"):
        read_settings()
    given(monkeypatch)
    assert not read_settings().console.password_login
