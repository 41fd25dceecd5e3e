"""A command starts with what it needs: who asks no engine and no payer does not wait for their libraries."""

import json
import subprocess
import sys

import pytest
from typer.main import get_command

from workers.cli.app import build
from workers.cli.lazy import LazyGroup, load

HEAVY = frozenset({"grpc", "pyzeebe", "lxml", "httpx", "opentelemetry.sdk", "aiosmtplib"})
LIBRARIES = {
    **dict.fromkeys(("demo", "up", "work", "api", "deploy", "relay"), HEAVY),
    **dict.fromkeys((f"claim {name}" for name in ("submit", "start", "protocol", "review")), HEAVY),
    **dict.fromkeys(
        (f"claim {name}" for name in ("retry-now", "cancel", "deadline", "resolve", "bulk")), HEAVY
    ),
    **dict.fromkeys(("payer resume", "payer probe", "dlq redrive"), HEAVY),
    "audit export": frozenset({"lxml"}),
    "keys rotate": frozenset({"lxml", "httpx"}),
    "engine clock": frozenset({"httpx"}),
    "simulate-payer": frozenset({"lxml", "httpx"}),
}
"""What each command may import of them; a command that is not named, nothing."""
LOOK = """
import json, os, sys
from importlib import import_module
import workers.cli.app, workers.config.settings, workers.cli.database
heavy, modules = json.load(sys.stdin)
for module in modules:
    reading, writing = os.pipe()
    if not os.fork():  # each begins where no other has imported anything
        import_module(module)
        os.write(writing, json.dumps([name for name in heavy if name in sys.modules]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        print(told.read())
    os.wait()
"""


def modules_of(group: LazyGroup, *path: str) -> dict[str, str]:
    """Which module each command is in, by its words; only groups are loaded for it."""
    found: dict[str, str] = {}
    for name, entry in group.table.items():
        command = load(name, entry.target) if entry.target.endswith("_app") else None
        below = modules_of(command, *path, name) if isinstance(command, LazyGroup) else {}
        found |= below or {" ".join((*path, name)): entry.target.split(":")[0]}
    return found


MODULES = modules_of(get_command(build()))  # type: ignore[arg-type]  # Typer does not tell its class


@pytest.fixture(scope="module")
def imported() -> dict[str, frozenset[str]]:
    """What of the heavy libraries each command imports that may not import all of them.

    One process finds it out, which forks for each.
    """
    modules = {name: module for name, module in MODULES.items() if LIBRARIES.get(name) != HEAVY}
    places = sorted(set(modules.values()))
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        input=json.dumps([sorted(HEAVY), places]),
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    seen = {place: frozenset(json.loads(line)) for place, line in zip(places, lines, strict=True)}
    return {name: seen[module] for name, module in modules.items()}


def test_a_command_imports_no_library_of_those_whom_it_does_not_ask(
    imported: dict[str, frozenset[str]],
) -> None:
    needless = {name: found - LIBRARIES.get(name, frozenset()) for name, found in imported.items()}
    assert {name: sorted(found) for name, found in needless.items() if found} == {}


def test_whoever_may_import_some_of_them_does(imported: dict[str, frozenset[str]]) -> None:
    some = {name: libraries for name, libraries in LIBRARIES.items() if libraries != HEAVY}
    assert {name: imported[name] for name in some} == some


def test_whoever_may_import_any_of_them_is_a_command() -> None:
    assert set(LIBRARIES) <= set(MODULES)


def test_settings_know_no_database_driver_and_no_engine() -> None:
    look = "import sys, workers.config.settings; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert not (HEAVY | {"sqlalchemy", "structlog"}) & set(done.stdout.split())


def test_what_a_command_imports_is_never_searched_for_garbage() -> None:
    look = """if True:
        import gc, workers.cli.lazy
        workers.cli.lazy.load("submit", "workers.cli.submit:submit")
        import workers.cli.submit
        searched = {id(one) for one in gc.get_objects()}
        print(gc.isenabled(), id(workers.cli.submit.__dict__) in searched)
    """
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_what_a_start_has_left_behind_is_taken_away_once() -> None:
    look = """if True:
        import gc, weakref
        from workers.app.garbage import never_searched, settle
        class Knot: ...
        with never_searched():
            knot = Knot()
            knot.itself, seen = knot, weakref.ref(knot)
            del knot
            kept = Knot()
        gc.collect()
        is_left = seen() is not None
        settle()
        print(is_left, seen() is None, id(kept) in {id(one) for one in gc.get_objects()})
    """
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "False"]
