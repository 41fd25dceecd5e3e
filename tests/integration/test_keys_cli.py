"""`reenvio keys` as a person runs it: which keys are needed, a new one, and everything under it."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from persistence.database.engine import close_database, open_database
from persistence.encryption.keys import KEY_FILE, cipher_of, known_cipher, new_key
from persistence.repositories.claims import Arrival
from persistence.repositories.guides import kept_guides
from persistence.repositories.payloads import seal_payload
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, later
from tests.support.command_line import reenvio
from tests.support.intake_stage import FILE
from workers.claims.guides import guides_of

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)  # both is the contract suite's part


async def keys(home: Path, *arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    done = await asyncio.to_thread(reenvio, home, "keys", *arguments, COLUMNS="200", **given)
    assert "Traceback" not in done.stderr
    return done


async def hand_in(url: str, keys: str) -> None:
    cipher, engine = cipher_of(keys), open_database(url)
    arrival = Arrival(CLAIM, "p", later(hours=48), "c" * 64, "1")
    async with Store(engine).transaction() as tx:
        await tx.claims.receive_all([(arrival, NOW)])
        await tx.payloads.put(CLAIM, seal_payload(cipher, CLAIM, FILE), now=NOW)
        await tx.guides.keep(arrival, kept_guides(cipher, guides_of(FILE)))
    await close_database(engine)


# files, results, words, mails, mail servers' words, dead letters, guides, audit events are counted
async def test_a_key_in_the_key_file_is_added_chosen_and_takes_everything_over(
    url: str, tmp_path: Path
) -> None:
    (tmp_path / KEY_FILE).write_text(new_key("first"))
    (tmp_path / KEY_FILE).chmod(0o600)
    await hand_in(url, (tmp_path / KEY_FILE).read_text())
    added = await keys(tmp_path, "add", "--id", "second", DATABASE_URL=url)
    assert (added.returncode, added.stdout) == (0, ""), added.stderr
    cipher = known_cipher(None, tmp_path)
    assert cipher is not None
    assert (cipher.current, list(cipher.keys)) == ("first", ["first", "second"])
    for key in (tmp_path / KEY_FILE).read_text().split(","):
        assert key.partition(":")[2] not in added.stderr

    rotated = await keys(tmp_path, "rotate", "--to", "second", DATABASE_URL=url)
    assert (rotated.returncode, rotated.stdout) == (0, "1 value sealed anew with second.\n")
    assert "files: 1 sealed anew" in rotated.stderr
    listed = await keys(tmp_path, "list", DATABASE_URL=url)
    lines = [line.split() for line in listed.stdout.splitlines()]
    assert (listed.returncode, lines[1:]) == (
        0,
        [["second", "encrypts", *"10000010"], ["first", "reads", *"00000000"]],
    )


async def test_keys_that_are_missing_are_listed_with_what_needs_them(url: str, tmp_path: Path) -> None:
    await hand_in(url, new_key("lost"))
    here = new_key("here")
    listed = await keys(tmp_path, "list", DATABASE_URL=url, ENCRYPTION_KEYS=here)
    assert listed.returncode == 1
    assert [line.split() for line in listed.stdout.splitlines()][1:] == [
        ["here", "encrypts", *"00000000"],
        ["lost", "MISSING", *"10000010", "1"],
    ]
    rotated = await keys(tmp_path, "rotate", DATABASE_URL=url, ENCRYPTION_KEYS=here)
    assert "Left under lost, which is not here: 1 files, 1 guides." in rotated.stdout
    assert (rotated.returncode, "files: 0" in rotated.stderr) == (1, False)


async def test_a_key_for_the_environment_is_printed_and_kept_nowhere(url: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for given in ({}, {"ENCRYPTION_KEYS": new_key("k1")}):
        done = await keys(home, "add", DATABASE_URL=url, **given)
        assert done.returncode == 0
        assert len(cipher_of(done.stdout.strip()).keys) == 1
        assert done.stdout.strip() not in done.stderr
    assert not (home / KEY_FILE).exists()


async def test_after_a_loss_a_person_may_have_a_new_key_and_is_told_what_stays_closed(
    url: str, tmp_path: Path
) -> None:
    await hand_in(url, new_key("lost"))
    refused = await keys(tmp_path, "rotate", DATABASE_URL=url)
    assert refused.returncode == 2
    assert "sealed with lost: put the key file back" in refused.stderr
    assert "`reenvio keys add`" in refused.stderr
    assert (await keys(tmp_path, "add", "--id", "new", DATABASE_URL=url)).returncode == 0
    listed = (await keys(tmp_path, "list", DATABASE_URL=url)).stdout
    assert ("new" in listed, "encrypts" in listed, "MISSING" in listed) == (True, True, True)


async def test_the_key_that_encrypts_is_chosen_in_the_environment_where_keys_are_there(
    url: str, tmp_path: Path
) -> None:
    both = f"{new_key('a')},{new_key('b')}"
    done = await keys(tmp_path, "rotate", "--to", "b", DATABASE_URL=url, ENCRYPTION_KEYS=both)
    assert (done.returncode, "'b' first in ENCRYPTION_KEYS" in done.stderr) == (2, True)
