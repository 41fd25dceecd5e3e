"""No part of a password is in an error, however odd the address that holds it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Trouble
from gateways.redis import open_stream
from gateways.sink import SinkError
from gateways.tiss.settings import PayerSettingsError, read_payers
from gateways.zeebe.connection import ZeebeConnectionError
from persistence.database.engine import open_database
from persistence.database.trouble import DatabaseError
from tests.support.command_line import reenvio
from tests.support.payers_file import payers_file
from workers.config.cluster import ClusterSettings, connection_from

ODD = st.text(alphabet="@:/?#[]%&=+ \\'\"{}^`|~!$*();,", min_size=1, max_size=4)
SECRET = "S3cretWord"
ADDRESSES = ("redis://user:{}@host:6379/0", "rediss://:{}@host/0", "redis://host:{}/0", "{}")


def complaint(error: BaseException) -> str:
    """All that anybody could print of an error."""
    behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return str(error) + (complaint(behind) if behind is not None else "")


@given(ODD, ODD, st.sampled_from(ADDRESSES))
def test_a_redis_address_that_cannot_be_used_is_not_quoted(before: str, after: str, form: str) -> None:
    try:
        open_stream(form.format(f"{before}{SECRET}{after}"))
    except SinkError as refused:
        said = complaint(refused)
    else:
        return
    assert SECRET not in said


@given(ODD, ODD, st.sampled_from(["postgresql+asyncpg", "postgres", "sqlite+aiosqlite", "nonsense"]))
def test_a_database_address_that_cannot_be_used_is_not_quoted(before: str, after: str, driver: str) -> None:
    try:
        open_database(f"{driver}://user:{before}{SECRET}{after}@host:543x/db")
    except DatabaseError as refused:
        said = str(refused)
    else:
        return
    assert SECRET not in said


@pytest.mark.parametrize(
    "setting",
    [
        {"DATABASE_URL": f"postgresql+asyncpg://u:{SECRET}@/x@h:99999/db"},
        {"DATABASE_URL": f"postgresql+asyncpg://u:p@ss:{SECRET}@localhost:1/db"},
        {"REDIS_URL": f"redis://:p@ss:{SECRET}/0"},
        {"REDIS_URL": f"redis://host:{SECRET}/0"},
        {"ENCRYPTION_KEYS": f"k1:{SECRET}"},
        {"API_TOKENS": SECRET},
        {"ZEEBE_ADDRESS": f"ftp://user:{SECRET}@host:26500"},
    ],
    ids=lambda setting: "-".join(setting),
)
def test_no_command_prints_a_part_of_a_secret(tmp_path: Path, setting: dict[str, str]) -> None:
    reenvio(tmp_path, "migrate")
    for command in (("relay", "--once"), ("work",)):
        done = reenvio(tmp_path, *command, **({"ZEEBE_ADDRESS": "bad://"} | setting))
        assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "line",
    [
        'endpoint = "https://user:{}@payer.example"\nversion = "9"',
        'endpoint = "http://user:{}@payer.example"\nversion = "4.03.00"',
        'endpoint = "https://x"\nversion = "4.03.00"\nproxy = "http://u:{}@p:1"\nlogin = 5',
        'endpoint = "https://x"\nversion = "4.03.00"\npassword = "{}"',
        'endpoint = "https://x"\nversion = "4.03.00"\nlogin = "a"\npassword_env = "SECRET"\nat_once = 0',
        'endpoint = "https://x"\npassword = "{}',
    ],
)
def test_payer_settings_that_do_not_fit_quote_no_secret(tmp_path: Path, line: str) -> None:
    file = payers_file(tmp_path, f"[payers.302147]\n{line.replace('{}', SECRET)}\n")
    with pytest.raises(PayerSettingsError) as refused:
        read_payers(file, {"SECRET": SECRET})
    assert SECRET not in complaint(refused.value)


def test_a_cluster_address_that_cannot_be_used_is_not_quoted() -> None:
    with pytest.raises(ZeebeConnectionError) as refused:
        connection_from(ClusterSettings(zeebe_address=f"ftp://user:{SECRET}@host:26500"))
    assert isinstance(refused.value, Trouble)
    assert SECRET not in complaint(refused.value)
