"""The command line never shows a traceback: what we foresee ends in one line of advice."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer import Context
from typer.main import get_command
from typer.testing import CliRunner

from tests.support.command_line import reenvio
from tests.support.payers_file import payers_file
from workers.cli.app import TABLE, build
from workers.cli.lazy import Entry, LazyGroup, load


@pytest.mark.parametrize(
    ("arguments", "environment", "advice"),
    [
        (["work"], {}, "start one with `reenvio engine start`"),
        (["claim", "cancel", "CLM-001-1", "--reason", "x"], {}, "start one with `reenvio engine start`"),
        (["claim", "start", "CLM-001-11144477735", "--payer", "p"], {}, "no person's number in a claim id"),
        (["claim", "start", "CLM-001-1", "--payer", "o\x1b n"], {}, "payer: it has not the shape"),
        (["claim", "start", "CLM-001-1", "--payer", "norte"], {}, "start one with `reenvio engine start`"),
        (
            ["claim", "start", "CLM-001-1", "--payer", "norte"],
            {"ZEEBE_ADDRESS": "localhost:1"},
            "payer: norte is not configured, and no practice payer is switched on (rule: a claim without a "
            "file is for practice). Hand a file in with `reenvio claim submit`, or practise: "
            "PRACTICE_PAYER=true, no PAYERS_FILE.",
        ),
        (["claim", "list"], {}, "run `reenvio migrate`"),
        (["work"], {"LOG_LEVEL": "loud"}, "LOG_LEVEL"),
        (["work"], {"ZEEBE_ADDRESS": "localhost:1", "PAYER_SCRIPT": "/nowhere.json"}, "PAYER_SCRIPT"),
        (["work"], {"ZEEBE_CLIENT_ID": "me"}, "set ZEEBE_ADDRESS"),
        (["migrate"], {"DATABASE_URL": "nonsense"}, "DATABASE_URL"),
        (["migrate"], {"DATABASE_URL": "sqlite+aiosqlite:////dev/null/reenvio.db"}, "DATABASE_URL"),
        (["migrate"], {"DATABASE_URL": "sqlite+aiosqlite:////dev"}, "cannot be opened"),
        (["work"], {"ENGINE_GRPC_PORT": "many"}, "ENGINE_GRPC_PORT"),
        (
            ["up"],
            {"PRACTICE_PAYER": "true", "MAIL_SMTP_HOST": "mail.example", "ENGINE_ARCHIVE": "/nowhere"},
            "MAIL_TO_OPERATIONS is not set",
        ),
    ],
)
def test_trouble_ends_in_one_line_that_says_what_to_do(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], advice: str
) -> None:
    done = reenvio(tmp_path, *arguments, **environment)
    assert done.returncode in (1, 2)
    assert advice in done.stderr
    assert "Traceback" not in done.stderr
    assert len([line for line in done.stderr.splitlines() if "practice_payer" not in line]) == 1


def test_a_claim_id_of_the_wrong_shape_is_refused_with_an_example(tmp_path: Path) -> None:
    done = reenvio(tmp_path, "claim", "show", "no-digit")
    assert done.returncode == 2
    assert "CLM-001-1234567890" in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("payer", "told"),
    [
        ("norte", "Hand the file in: `reenvio claim submit FILE.xml --payer norte`."),
        ("sul", "payer: sul is not configured"),
    ],
)
def test_beside_payers_that_are_configured_no_claim_is_started_without_its_file(
    tmp_path: Path, payer: str, told: str
) -> None:
    text = '[payers.norte]\nendpoint = "http://127.0.0.1:9/"\nregistro_ans = "302147"\nversion = "4.03.00"\n'
    file = payers_file(tmp_path, text)
    done = reenvio(tmp_path, "claim", "start", "CLM-001-1", "--payer", payer, PAYERS_FILE=str(file))
    assert (done.returncode, told in done.stderr) == (1, True), done.stderr
    assert done.stderr.startswith(f"payer: {payer} is ")


def test_migrate_makes_the_database_in_our_home(tmp_path: Path) -> None:
    assert reenvio(tmp_path, "migrate").returncode == 0
    assert (tmp_path / "reenvio.db").exists()


def every_command(command: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """The way to each command that there is."""
    if not hasattr(command, "list_commands"):
        yield path
        return
    context = Context(command)
    for name in command.list_commands(context):
        yield from every_command(command.resolve_command(context, [name])[1], *path, name)


COMMANDS = list(every_command(get_command(build())))


def test_no_command_is_left_out_of_the_walk() -> None:
    assert {path[0] for path in COMMANDS} == set(TABLE)
    assert {("claim", "protocol"), ("payer", "resume"), ("retention", "hold")} <= set(COMMANDS)


def every_entry(group: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Entry]]:
    """Each line of each table, by the way to its command."""
    if isinstance(group, LazyGroup):
        for name, entry in group.table.items():
            yield (*path, name), entry
            yield from every_entry(load(name, entry.target), *path, name)


ENTRIES = dict(every_entry(get_command(build())))


def test_groups_have_tables_of_their_own() -> None:
    assert {("claim",), ("claim", "show"), ("engine", "clock"), ("keys", "rotate")} <= set(ENTRIES)


@pytest.mark.parametrize("path", ENTRIES, ids=" ".join)
def test_lists_say_of_a_command_what_it_says_of_itself(path: tuple[str, ...]) -> None:
    entry = ENTRIES[path]
    assert load(path[-1], entry.target).help.splitlines()[0] == entry.help


IMPORTED = """
import sys
from workers.cli import main
sys.argv[1:] = {}
try:
    main()
except SystemExit:
    print(*sys.modules)
"""


@pytest.mark.parametrize(
    ("arguments", "needless"),
    [
        (["--help"], {"sqlalchemy", "pydantic", "grpc", "lxml", "structlog", "workers.config.settings"}),
        (["claim", "list"], {"alembic", "jgo", "redis"}),
        (["claim", "submit", "nothing.xml"], {"alembic", "jgo", "redis"}),
    ],
    ids=["help", "claim list", "claim submit"],
)
def test_a_command_imports_nothing_that_it_does_not_need(
    tmp_path: Path, arguments: list[str], needless: set[str]
) -> None:
    reenvio(tmp_path, "migrate")
    environment = {**os.environ, "REENVIO_HOME": str(tmp_path), "PRACTICE_PAYER": "true"}
    run = [sys.executable, "-c", IMPORTED.format(arguments)]
    done = subprocess.run(run, capture_output=True, text=True, env=environment, check=True)
    assert not needless & set(done.stdout.split())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(path: tuple[str, ...]) -> None:
    done = CliRunner().invoke(build(), [*path, "--help"])
    assert done.exit_code == 0
    usage, sentence, *_ = (line.strip() for line in done.output.splitlines() if line.strip())
    assert usage.startswith("Usage:")
    assert sentence[0].isalpha(), "not yet its arguments, nor its options"


@pytest.mark.parametrize("group", ["claim", "payer"])
def test_what_only_looks_needs_no_engine(tmp_path: Path, group: str) -> None:
    reenvio(tmp_path, "migrate")
    done = reenvio(tmp_path, group, "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("No ")


@pytest.mark.parametrize("command", [("claim", "list"), ("payer", "list"), ("audit", "verify")], ids=" ".join)
def test_a_home_without_a_database_is_told_so_and_gets_none_from_looking(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    done = reenvio(tmp_path, *command)
    assert done.returncode in (1, 2)
    assert "There is no database yet: run `reenvio migrate` or `reenvio up`." in done.stderr
    assert not list(tmp_path.glob("*.db*"))
