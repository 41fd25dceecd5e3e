"""Encryption at rest: unreadable without the key, bound to its row, keys can change."""

import stat
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from persistence.encryption.cipher import CipherError
from persistence.encryption.keys import (
    KEY_FILE,
    EncryptionKeyError,
    cipher_of,
    known_cipher,
    made_cipher,
    new_key,
)

SECRET = '{"protocolNumber": "2025-0001", "name": "Maria da Silva"}'


def test_what_is_encrypted_comes_back_and_cannot_be_read_meanwhile() -> None:
    cipher = cipher_of(new_key("k1"))
    stored = cipher.encrypt(SECRET, context="row 1")
    assert "Maria" not in stored
    assert cipher.decrypt(stored, context="row 1") == SECRET


def test_the_same_text_never_looks_the_same_twice() -> None:
    cipher = cipher_of(new_key("k1"))
    assert cipher.encrypt(SECRET, context="x") != cipher.encrypt(SECRET, context="x")


def test_a_value_moved_to_another_row_does_not_open() -> None:
    cipher = cipher_of(new_key("k1"))
    stored = cipher.encrypt(SECRET, context="row 1")
    with pytest.raises(CipherError, match="was changed"):
        cipher.decrypt(stored, context="row 2")


def test_a_new_key_encrypts_and_the_old_one_still_reads() -> None:
    old, new = new_key("2025"), new_key("2026")
    before = cipher_of(old).encrypt(SECRET, context="x")
    rotated = cipher_of(f"{new},{old}")
    assert rotated.decrypt(before, context="x") == SECRET
    assert rotated.encrypt(SECRET, context="x").startswith("g1:2026:")


def test_a_key_that_is_missing_is_named() -> None:
    stored = cipher_of(new_key("2025")).encrypt(SECRET, context="x")
    with pytest.raises(CipherError, match=r"'2025'.*ENCRYPTION_KEYS"):
        cipher_of(new_key("2026")).decrypt(stored, context="x")


@pytest.mark.parametrize("stored", ["", "plain text", "g9:k1:abcd"])
def test_what_was_never_encrypted_is_refused(stored: str) -> None:
    with pytest.raises(CipherError, match="not encrypted"):
        cipher_of(new_key("k1")).decrypt(stored, context="x")


@pytest.mark.parametrize("text", ["nonsense", "k1:short", "k1:not base64!", ":aaaa", "a b:" + "A" * 44])
def test_keys_that_make_no_sense_are_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(EncryptionKeyError, match="ENCRYPTION_KEYS") as refused:
        cipher_of(text)
    assert text not in str(refused.value)


def test_without_keys_a_file_is_made_once_for_its_owner_only_with_a_warning(tmp_path: Path) -> None:
    home = tmp_path / "new home"
    with capture_logs() as logs:
        stored = made_cipher(home).encrypt(SECRET, context="x")
        again = known_cipher(None, home)
    assert again is not None
    assert again.decrypt(stored, context="x") == SECRET
    assert [entry["event"] for entry in logs] == ["encryption_key_created"]
    assert stat.S_IMODE((home / KEY_FILE).stat().st_mode) == 0o600
    assert [file.name for file in home.iterdir()] == [KEY_FILE]


def test_a_key_file_that_was_lost_is_followed_by_a_key_of_another_name(tmp_path: Path) -> None:
    stored = made_cipher(tmp_path).encrypt(SECRET, context="x")
    (tmp_path / KEY_FILE).unlink()
    with pytest.raises(CipherError, match="is not set"):
        made_cipher(tmp_path).decrypt(stored, context="x")


def test_a_home_that_cannot_be_used_is_one_line_of_advice(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(EncryptionKeyError, match="REENVIO_HOME"):
        made_cipher(tmp_path / "home")
