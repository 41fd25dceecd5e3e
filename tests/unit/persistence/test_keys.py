"""Keys of a key file: its owner's alone, each with an id of its own, added and chosen without losing one."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from persistence.encryption.keys import (
    KEY_FILE,
    EncryptionKeyError,
    add_key,
    cipher_of,
    known_cipher,
    made_cipher,
    new_key,
    put_first,
    random_id,
)


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660, 0o602])
def test_a_key_file_that_is_open_to_others_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    made_cipher(tmp_path)
    (tmp_path / KEY_FILE).chmod(mode)
    with pytest.raises(EncryptionKeyError, match=f"chmod 600 {tmp_path / KEY_FILE}"):
        known_cipher(None, tmp_path)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o440])
def test_a_key_file_may_be_read_by_a_group_of_ones_choice(tmp_path: Path, mode: int) -> None:
    made = made_cipher(tmp_path)
    (tmp_path / KEY_FILE).chmod(mode)
    assert known_cipher(None, tmp_path) == made


def test_two_keys_of_one_id_are_refused() -> None:
    with pytest.raises(EncryptionKeyError, match="the same id"):
        cipher_of(f"{new_key('k1')},{new_key('k1')}")


def test_reading_makes_no_key(tmp_path: Path) -> None:
    assert known_cipher(None, tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_random_ids_differ() -> None:
    assert len({random_id() for _ in range(100)}) == 100


def test_an_added_key_reads_and_encrypts_only_when_it_is_put_first(tmp_path: Path) -> None:
    first = made_cipher(tmp_path).current
    add_key(tmp_path, new_key("second"))
    added = known_cipher(None, tmp_path)
    assert added is not None
    assert (added.current, list(added.keys)) == (first, [first, "second"])
    put_first(tmp_path, "second")
    chosen = known_cipher(None, tmp_path)
    assert chosen is not None
    assert (chosen.current, chosen.keys) == ("second", added.keys)
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [KEY_FILE]


def test_a_key_that_is_not_there_cannot_be_chosen_and_one_of_a_known_id_cannot_be_added(
    tmp_path: Path,
) -> None:
    made = made_cipher(tmp_path)
    with pytest.raises(EncryptionKeyError, match="no key 'other'"):
        put_first(tmp_path, "other")
    with pytest.raises(EncryptionKeyError, match="the same id"):
        add_key(tmp_path, new_key(made.current))
    assert known_cipher(None, tmp_path) == made


def test_of_many_that_add_a_key_at_once_none_is_lost(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: add_key(tmp_path, new_key(f"k{n}")), range(16)))
    cipher = known_cipher(None, tmp_path)
    assert cipher is not None
    assert sorted(cipher.keys) == sorted(f"k{n}" for n in range(16))
