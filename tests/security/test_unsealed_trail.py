"""Whoever writes the audit trail has the key that seals it, or does not begin; who only reads needs none."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from typer import Context
from typer.core import TyperGroup
from typer.main import get_command

import workers.policy
from gateways.clock import WallClock
from gateways.zeebe.connection import Plaintext
from persistence.store import Store
from tests.support.command_line import reenvio
from tests.support.patients import dump
from workers.app.cluster import Cluster
from workers.app.composition import running
from workers.cli.app import build
from workers.config.settings import Settings

NOBODY = "127.0.0.1:1"
CLAIM = "CLM-001-1234567890"
WHY = ("--reason", "a test")
DEFAULT_POLICY = Path(workers.policy.__file__).with_name("default.toml")
NEITHER_SENDS_NOR_TAKES_IN = [
    ("work", "--only", "retry-submission-backoff"),
    ("work", "--only", "apply-retention", "--only", "anchor-audit"),
]
ORDERS: list[tuple[str, ...]] = [
    ("audit", "begin", *WHY, "--yes"),
    ("claim", "bulk", "RESEND", *WHY, "--yes"),
    ("claim", "cancel", CLAIM, *WHY, "--yes"),
    ("claim", "deadline", CLAIM, "--to", "48h", *WHY),
    ("claim", "resolve", CLAIM, *WHY),
    ("claim", "review", CLAIM, "WRITE_OFF", *WHY, "--yes"),
    ("claim", "words", CLAIM, *WHY),
    ("dlq", "export", "--with-data", *WHY),
    ("dlq", "purge", "--older-than", "1", *WHY, "--yes"),
    ("dlq", "redrive", *WHY, "--yes"),
    ("dlq", "show", "00000000-0000-0000-0000-000000000000", "--with-data", *WHY),
    ("payer", "pause", "p", *WHY),
    ("payer", "probe", *WHY),
    ("payer", "resume", "p", *WHY),
    ("payer", "trip", "p", *WHY),
    ("policy", "adopt", str(DEFAULT_POLICY), *WHY, "--yes"),
    ("policy", "undo", *WHY, "--yes"),
    ("retention", "hold", CLAIM, *WHY),
    ("retention", "release", CLAIM, *WHY, "--yes"),
    ("retention", "run", *WHY, "--yes"),
    ("retention", "unlock", "1", *WHY),
]
UNPROVEN = ("audit", "verify")
"""Without the key it reads, and says that nothing is proven."""
ONLY_READ = [
    UNPROVEN,
    ("claim", "list"),
    ("claim", "resolve", "--payer", "p", "--dry-run"),
    ("dlq", "export"),
    ("dlq", "list"),
    ("dlq", "stats"),
    ("payer", "list"),
    ("relay", "--lag"),
    ("retention", "holds"),
    ("retention", "run", "--dry-run"),
]


async def asked(url: str, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command at a database that is not of this home, with no key set."""
    return await asyncio.to_thread(reenvio, home, *arguments, DATABASE_URL=url, ZEEBE_ADDRESS=NOBODY)


def is_refused_for_its_key(done: subprocess.CompletedProcess[str]) -> bool:
    told = all(word in done.stderr for word in ("ENCRYPTION_KEYS", "audit trail", "`reenvio keys add`"))
    return told and done.returncode == 2 and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", NEITHER_SENDS_NOR_TAKES_IN, ids=" ".join)
async def test_a_worker_that_neither_sends_nor_takes_in_does_not_start_without_a_key(
    url: str, tmp_path: Path, command: tuple[str, ...]
) -> None:
    done = await asked(url, tmp_path / "home", *command)
    assert is_refused_for_its_key(done), done.stderr
    assert not (tmp_path / "home" / "encryption.key").exists()


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("command", ORDERS, ids=" ".join)
async def test_a_command_that_would_write_the_trail_does_nothing_without_a_key(
    url: str, database: AsyncEngine, tmp_path: Path, command: tuple[str, ...]
) -> None:
    before = await dump(database)
    done = await asked(url, tmp_path / "home", *command)
    assert is_refused_for_its_key(done), done.stderr
    assert await dump(database) == before


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("command", ONLY_READ, ids=" ".join)
async def test_a_command_that_only_reads_needs_no_key(
    url: str, tmp_path: Path, command: tuple[str, ...]
) -> None:
    done = await asked(url, tmp_path / "home", *command)
    assert done.returncode == (1 if command == UNPROVEN else 0), done.stderr
    assert not done.stderr


def test_every_order_is_among_those_that_are_tried_here() -> None:
    """Who gives one is asked why: by that they are known."""
    signed = {path for path, command in commands(get_command(build())) if asks_why(command)}
    assert signed == {command[:2] for command in ORDERS}


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in group.list_commands(None):
        found = group.resolve_command(Context(group), [name])[1]
        if isinstance(found, TyperGroup):
            yield from commands(found, (*path, name))
        else:
            yield (*path, name), found


def asks_why(command: Any) -> bool:
    return any("--reason" in option.opts for option in command.params)


async def test_an_order_in_a_new_home_makes_the_key_that_seals_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    await asyncio.to_thread(reenvio, home, "migrate")
    done = await asyncio.to_thread(reenvio, home, "retention", "run", *WHY, "--yes")
    assert done.returncode == 0, done.stderr
    assert (home / "encryption.key").exists()


async def test_readiness_is_red_for_whoever_got_by_without_a_key(
    url: str, store: Store, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path / "home", database_url=url)
    assert await store.answers()
    async with running(settings, Cluster(Plaintext(NOBODY), WallClock())) as app:
        assert "ENCRYPTION_KEYS" in (await app.keys.trouble() or "green")
