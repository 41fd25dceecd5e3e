"""What a message tells to do is what helps: keys missing or written wrongly, databases that refuse."""

import asyncio
import subprocess
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from persistence.database.engine import close_database, open_database, sqlite_url
from persistence.database.trouble import DatabaseError, reachable
from persistence.encryption.cipher import CipherError
from persistence.encryption.keys import KEY_FILE, EncryptionKeyError, cipher_of, known_cipher, new_key
from tests.support.command_line import reenvio
from tests.support.databases import Postgres


def key_file(home: Path, text: str) -> Path:
    file = home / KEY_FILE
    file.write_text(text)
    file.chmod(0o600)
    return file


async def keys(home: Path, *arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(reenvio, home, "keys", *arguments, COLUMNS="200", **given)


@pytest.mark.parametrize("between", [",", "\n", ",\n", "\n\n", "\r\n"])
def test_a_key_that_is_found_again_may_be_joined_to_the_new_one_by_a_line(
    tmp_path: Path, between: str
) -> None:
    key_file(tmp_path, f"{new_key('new')}{between}{new_key('old')}\n")
    cipher = known_cipher(None, tmp_path)
    assert cipher is not None
    assert (cipher.current, list(cipher.keys)) == ("new", ["new", "old"])


@pytest.mark.parametrize("text", ["", "no key", f"{new_key('a', random=bytes)},{new_key('a', random=bytes)}"])
def test_a_key_file_that_is_written_wrongly_is_named_itself(tmp_path: Path, text: str) -> None:
    file = key_file(tmp_path, text)
    with pytest.raises(EncryptionKeyError) as told:
        known_cipher(None, tmp_path)
    assert (str(file) in str(told.value), "ENCRYPTION_KEYS" in str(told.value)) == (True, False)


def test_the_remedy_for_a_missing_key_does_not_overwrite_the_one_that_is_here() -> None:
    sealed = cipher_of(new_key("old")).encrypt("x", context="c")
    with pytest.raises(CipherError) as told:
        cipher_of(new_key("new")).decrypt(sealed, context="c")
    assert "put its key file back" not in str(told.value)
    assert f"on a line of its own to {KEY_FILE}" in str(told.value)


async def test_a_key_for_a_database_of_others_is_printed_though_a_key_file_is_here(tmp_path: Path) -> None:
    file = key_file(tmp_path, new_key("old"))
    before = file.read_text()
    done = await keys(tmp_path, "add", DATABASE_URL=sqlite_url(tmp_path / "elsewhere" / "reenvio.db"))
    assert (done.returncode, len(cipher_of(done.stdout.strip()).keys)) == (0, 1), done.stderr
    assert file.read_text() == before
    assert str(file) in done.stderr


async def test_the_only_key_is_said_to_encrypt(tmp_path: Path) -> None:
    done = await keys(tmp_path, "add", "--id", "only")
    assert (done.returncode, "It encrypts from now on" in done.stderr) == (0, True), done.stderr
    assert "rotate --to" not in done.stderr


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"username": "nobody_here", "password": "s3cret"}, "refuses the login"),
        ({"database": "no_such_database"}, "no database of that name"),
    ],
)
async def test_a_database_that_refuses_is_not_said_to_be_silent(
    postgres: Postgres, changed: dict[str, str], said: str
) -> None:
    address = make_url(postgres.url).set(**changed).render_as_string(hide_password=False)  # type: ignore[arg-type]
    engine = open_database(address)
    with pytest.raises(DatabaseError) as told, reachable():
        async with engine.connect():
            pass
    await close_database(engine)
    assert (said in str(told.value), "does not answer" in str(told.value)) == (True, False)
    assert "s3cret" not in str(told.value)


@pytest.mark.parametrize(
    ("address", "driver"),
    [
        ("postgresql://u:p@localhost/d", "postgresql+asyncpg://"),
        ("postgres://u:p@localhost/d", "postgresql+asyncpg://"),
    ],
)
def test_an_address_without_its_driver_is_told_which(address: str, driver: str) -> None:
    with pytest.raises(DatabaseError, match="DATABASE_URL") as told:
        open_database(address)
    assert driver in str(told.value)
    assert "sqlite" not in str(told.value)
