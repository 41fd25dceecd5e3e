"""A payer's settings are read once, whole, and refused in one line; secrets stay secret."""

from datetime import UTC, datetime, time
from pathlib import Path

import pytest

from gateways.tiss.connections import open_http
from gateways.tiss.hours import PostingHours
from gateways.tiss.names import Version
from gateways.tiss.parties import Login, Provider
from gateways.tiss.settings import PayerSettingsError, read_payers
from tests.support.tiss_samples import payer

GOOD = """
[payers.999999]
name = "Operadora Exemplo"
endpoint = "https://tiss.example/lote"
status_endpoint = "https://tiss.example/status"
version = "4.01.00"
hash_encoding = "utf-8"
login = "PREST0001"
password_env = "PAYER_999999_PASSWORD"
provider = { kind = "CNPJ", value = "12345678000195" }
timeouts = { read = 300 }
requests_per_minute = 30
hours = { opens = 08:00:00, closes = 20:00:00 }
"""
ENVIRONMENT = {"PAYER_999999_PASSWORD": "segredo"}


def read(tmp_path: Path, text: str, environment: dict[str, str] | None = None) -> str:
    file = tmp_path / "payers.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PayerSettingsError) as refused:
        read_payers(file, ENVIRONMENT if environment is None else environment)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_file_gives_settings_by_payer(tmp_path: Path) -> None:
    file = tmp_path / "payers.toml"
    file.write_text(GOOD, encoding="utf-8")
    settings = read_payers(file, ENVIRONMENT)["999999"]
    assert settings.version is Version.V4_01_00
    assert settings.timeouts.read == 300
    assert settings.own_provider == Provider("CNPJ", "12345678000195")
    assert settings.account == Login("PREST0001", "40847951488f9395f242f30ed27cdc47")
    assert "segredo" not in repr(settings)
    assert settings.cancel_when_ambiguous is False
    assert settings.answer_hash == "required"


def test_a_password_travels_as_md5_and_may_be_given_so() -> None:
    digest = "5ebe2294ecd0e0f08eab7690d2a6ee69"
    for password in ("secret", digest, digest.upper()):
        assert payer(login="X", password=password).account == Login("X", digest)
    assert payer().account is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("https://tiss.example/lote", "http://tiss.example/lote"), "https://"),
        (("https://tiss.example/lote", "tiss"), "https://"),
        (("4.01.00", "3.05.00"), "version"),
        (('"PREST0001"', '""'), "login"),
        (("password_env", "password"), "keep password out of the file"),
        (('login = "PREST0001"', ""), "belong together"),
        (("999999]", "north]"), "registro_ans"),
        (("read = 300", "read = -1"), "timeouts.read"),
        (("read = 300", "total = 5"), "total must be at least twice connect"),
        (('name = "Operadora Exemplo"', 'surname = "x"'), "surname"),
        (('name = "Operadora Exemplo"', 'zone = "Mars"'), "zone: choose a zone such as"),
        (('name = "Operadora Exemplo"', 'zone = "America"'), "zone: choose a zone such as"),
        (("20:00:00 }", '20:00:00, zone = "Mars" }'), "hours.zone: choose a zone such as"),
        (("20:00:00", "08:00:00"), "hours: opens and closes are the same"),
        (("20:00:00", '"20:00:00Z"'), "hours: opens and closes are local times"),
        (("timeouts", "at_once = 5\ntimeouts"), "at_once: 5 sends at once could lock the login"),
        (("timeouts", "lockout_after = 3\ntimeouts"), "at_once: 4 sends at once could lock"),
        (("[payers.999999]", "[payers"), "not TOML"),
    ],
)
def test_a_fault_is_told_in_one_line(tmp_path: Path, change: tuple[str, str], why: str) -> None:
    assert why in read(tmp_path, GOOD.replace(*change))


def test_missing_things_are_told_by_name(tmp_path: Path) -> None:
    assert "PAYER_999999_PASSWORD is not set" in read(tmp_path, GOOD, {})
    assert "in a table [payers.x]" in read(tmp_path, "[payers]\nx = 1")
    with pytest.raises(PayerSettingsError, match="No such file"):
        read_payers(tmp_path / "nowhere.toml", {})


def test_plain_http_is_for_this_machine_or_by_decision() -> None:
    for url in ("http://127.0.0.1:1/", "http://localhost/", "http://[::1]/"):
        assert payer(url).endpoint == url
    assert payer("http://simulator:8088/", plain_http=True).plain_http


def test_bad_certificate_files_are_told_in_one_line(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("nonsense")
    for settings in (payer(ca_file=bad), payer(certificate=bad), payer(ca_file=tmp_path / "none.pem")):
        with pytest.raises(PayerSettingsError, match="certificate files cannot be used"):
            open_http(settings)


def test_sends_at_once_stay_below_what_locks_a_login_unless_the_payer_never_locks() -> None:
    login = {"login": "X", "password": "secret"}
    assert payer(**login).at_once == 4
    assert payer(**login, lockout_after=10, at_once=9).at_once == 9
    assert payer(**login, lockout_after=0, at_once=64).at_once == 64
    assert payer(at_once=64).at_once == 64
    with pytest.raises(ValueError, match="choose fewer than lockout_after"):
        payer(**login, lockout_after=10, at_once=10)


def test_hours_are_in_the_payers_zone_unless_they_name_their_own() -> None:
    hours = {"opens": "08:00", "closes": "20:00"}
    inside = datetime(2026, 1, 15, 12, 30, tzinfo=UTC)  # 7:30 in Rio Branco, 9:30 in Sao Paulo
    for settings, covers in (
        (payer(hours=hours), True),
        (payer(hours=hours, zone="America/Rio_Branco"), False),
        (payer(hours=hours | {"zone": "America/Sao_Paulo"}, zone="America/Rio_Branco"), True),
    ):
        assert settings.hours
        assert settings.hours.covers(inside) is covers


@pytest.mark.parametrize(
    ("opens", "closes", "hour", "inside"),
    [
        (8, 20, 8, True),
        (8, 20, 19, True),
        (8, 20, 20, False),
        (8, 20, 7, False),
        (22, 6, 23, True),
        (22, 6, 12, False),
    ],
)
def test_posting_hours_may_reach_over_midnight(opens: int, closes: int, hour: int, inside: bool) -> None:
    hours = PostingHours(opens=time(opens), closes=time(closes), zone="UTC")
    assert hours.covers(datetime(2026, 1, 15, hour, tzinfo=UTC)) is inside


def test_the_next_opening_is_now_today_or_tomorrow() -> None:
    hours = PostingHours(opens=time(8), closes=time(20))  # Sao Paulo is three hours behind UTC
    inside = datetime(2026, 1, 15, 12, tzinfo=UTC)
    assert hours.next_opening(inside) == inside
    assert hours.next_opening(datetime(2026, 1, 15, 9, tzinfo=UTC)) == datetime(2026, 1, 15, 11, tzinfo=UTC)
    assert hours.next_opening(datetime(2026, 1, 15, 23, 30, tzinfo=UTC)) == datetime(
        2026, 1, 16, 11, tzinfo=UTC
    )


@pytest.mark.parametrize("text", ["", "# all commented out\n", "[payers]\n", "payers = 1\n"])
def test_a_file_that_names_no_payer_is_refused(tmp_path: Path, text: str) -> None:
    assert "payers.toml name no payer in a table such as [payers.302147]" in read(tmp_path, text)
