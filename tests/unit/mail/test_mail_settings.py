"""Mail settings: read by their names, refused together, secrets out of sight."""

from pathlib import Path

import pytest

from workers.app.mail import mail_folder
from workers.app.recipients import recipients
from workers.config.mail import MailSettings
from workers.config.settings import Settings, SettingsError, read_settings
from workers.mail.recipients import read_companies

EVERYBODY = {
    "MAIL_FROM": "reenvio@hospital.example",
    "MAIL_TO_REGISTRATION": "a@hospital.example",
    "MAIL_TO_BILLING_MANAGEMENT": "b@hospital.example, c@hospital.example",
    "MAIL_TO_OPERATIONS": "d@hospital.example",
    "MAIL_TO_ADMINISTRATOR": "e@hospital.example",
}


def given(monkeypatch: pytest.MonkeyPatch, **variables: str) -> MailSettings:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return read_settings().mail


def test_without_settings_mail_goes_into_a_folder_of_our_home_for_everybody(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    settings.mail.require_fit()
    assert not settings.mail.leaves
    assert mail_folder(settings) == tmp_path / "mail"
    assert recipients(settings.mail).of("BILLING_MANAGEMENT", "c") == ("billing-management@localhost",)


def test_addresses_are_read_from_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    mail = given(monkeypatch, MAIL_SMTP_HOST="smtp.hospital.example", **EVERYBODY)
    mail.require_fit()
    people = recipients(mail)
    assert people.of("BILLING_MANAGEMENT", "c") == ("b@hospital.example", "c@hospital.example")
    assert people.of("ana@hospital.example", "c") == ("ana@hospital.example",)
    assert people.of("COMPANY", "c") == ()


def test_mail_that_leaves_needs_a_sender_and_everybodys_address_told_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mail = given(monkeypatch, MAIL_SMTP_HOST="smtp.hospital.example")
    with pytest.raises(SettingsError) as refused:
        mail.require_fit()
    assert [name for name in EVERYBODY if f"{name} is not set" not in str(refused.value)] == []


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"MAIL_SES_REGION": "sa-east-1"}, "not both"),
        ({"MAIL_SMTP_USERNAME": "u"}, "or neither"),
        ({"MAIL_SES_ENDPOINT": "https://ses.example"}, "MAIL_SES_ENDPOINT is set and MAIL_SES_REGION is not"),
        (
            {"MAIL_SMTP_SECURITY": "none", "MAIL_SMTP_USERNAME": "u", "MAIL_SMTP_PASSWORD": "p"},
            "password in clear",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(
    monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str], told: str
) -> None:
    mail = given(monkeypatch, MAIL_SMTP_HOST="smtp.hospital.example", **EVERYBODY, **wrong)
    with pytest.raises(SettingsError, match=told):
        mail.require_fit()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAIL_FROM", "nobody"),
        ("MAIL_TO_OPERATIONS", "a@b.c, \r\nBcc: x@y.z"),
        ("MAIL_RETRY_PROFILE", "04"),
        ("MAIL_LANGUAGE", "fr"),
        ("MAIL_COMPANY_ID", "a b"),
        ("MAIL_LANES", "0"),
        ("CONSOLE_URL", "javascript:alert(1)"),
        ("MAIL_SMTP_HOST", "smtp://mail.hospital.example"),
        ("MAIL_SMTP_HOST", "mail.hospital.example:587"),
        ("MAIL_SMTP_HOST", "mail hospital"),
        ("MAIL_SMTP_PASSWORD", "secret\n"),
        ("MAIL_SMTP_USERNAME", "ana\r\n"),
        ("MAIL_SES_REGION", "São Paulo"),
        ("MAIL_SES_REGION", "sa_east_1"),
        ("MAIL_SES_ENDPOINT", "nowhere"),
        ("MAIL_REDRIVE_AFTER_MINUTES", '{"421 ": 30}'),
        ("MAIL_REDRIVE_AFTER_MINUTES", '{"4210": 30}'),
        ("MAIL_REDRIVE_AFTER_MINUTES", '{"421": NaN}'),
        ("MAIL_TIMEOUT_SECONDS", "nan"),
        ("MAIL_COMPANY_LIMITS", '{"company 1": {"at_once": 1}}'),
        ("MAIL_TIERS", '{"company/1": "gold"}'),
    ],
)
def test_a_value_that_does_not_fit_is_told_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    with pytest.raises(SettingsError, match=f"{name}: "):
        given(monkeypatch, **{name: value})


@pytest.mark.parametrize("host", ["localhost", "mail.hospital.example", "10.0.0.7", "::1", "smtp_1"])
def test_a_host_is_a_name_or_an_address(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    assert given(monkeypatch, MAIL_SMTP_HOST=host).smtp_host == host


def test_a_login_without_a_server_is_refused_and_not_written_into_a_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mail = given(monkeypatch, MAIL_SMTP_USERNAME="ana", MAIL_SMTP_PASSWORD="secret")
    with pytest.raises(SettingsError, match="MAIL_SMTP_HOST is not"):
        mail.require_fit()


def test_a_refused_password_is_told_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError) as refused:
        given(monkeypatch, MAIL_SMTP_PASSWORD="hidden\n")
    assert "hidden" not in str(refused.value)
    assert "line's end" in str(refused.value)


def test_a_password_is_in_no_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "hidden" not in repr(given(monkeypatch, MAIL_SMTP_PASSWORD="hidden"))


def test_the_later_document_is_the_default_profile() -> None:
    mail = MailSettings()
    assert (mail.retry_profile, mail.lanes, mail.language) == ("03", 64, "pt")


def test_companies_have_addresses_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "companies.toml"
    file.write_text('company-1 = ["people@company.example"]\n', encoding="utf-8")
    assert read_companies(file) == {"company-1": ("people@company.example",)}
    assert read_companies(None) == {}


@pytest.mark.parametrize(
    "text",
    ["company-1 = 7", 'company-1 = ["nobody"]', "company-1 =", "company-1 = []", '"company 1" = ["a@b.c"]'],
)
def test_a_file_of_companies_that_does_not_fit_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "companies.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match="MAIL_COMPANIES_FILE"):
        read_companies(file)


def test_every_mail_setting_is_in_the_operators_table() -> None:
    page = (Path(__file__).parents[3] / "docs" / "operator.md").read_text(encoding="utf-8")
    fields = MailSettings.model_fields.items()
    names = {str(field.validation_alias or f"MAIL_{name.upper()}") for name, field in fields}
    assert {name for name in names if f"`{name}`" not in page} == set()
