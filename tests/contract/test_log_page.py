"""docs/logs.md names every line of the log that there is, with its level and its fields, and no other."""

import ast
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from workers.app.logs import OF_THE_RUNTIME

ROOT = Path(__file__).parents[2]
PRODUCT = ("bpmn", "domain", "gateways", "persistence", "workers")
LEVELS = {"debug", "info", "warning", "error"}
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| ([^|]*)\| ([^|]+) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Line:
    """A kind of line: its name, its level, and the fields that are known of it."""

    event: str
    level: str
    fields: frozenset[str]


def calls_in(tree: ast.Module) -> Iterator[ast.Call]:
    """Every call of a module's `log`, but of its `log.log`, whose names are a table's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner, method = node.func.value, node.func.attr
            if isinstance(owner, ast.Name) and owner.id == "log" and method != "log" and node.args:
                yield node


def lines_in(file: Path) -> Iterator[Line]:
    for call in calls_in(ast.parse(file.read_text(encoding="utf-8"))):
        assert isinstance(call.func, ast.Attribute)
        if "structlog" not in file.read_text(encoding="utf-8"):
            continue  # a file of the engine's that is called so
        [name] = call.args
        assert isinstance(name, ast.Constant), f"{file}:{call.lineno}: a name that is not written out"
        given = frozenset(keyword.arg for keyword in call.keywords if keyword.arg)
        yield Line(str(name.value), call.func.attr, given)


def written() -> list[Line]:
    """All lines that the code writes."""
    files = [file for package in PRODUCT for file in sorted((ROOT / package).rglob("*.py"))]
    runtime = [
        Line(name, logging.getLevelName(level).lower(), frozenset(one.name for one in fields(event)))
        for event, (level, name) in OF_THE_RUNTIME.items()
    ]
    return [line for file in files for line in lines_in(file)] + runtime


def documented() -> dict[str, Line]:
    page = (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")
    rows = ROW.findall(page)
    assert len(rows) == len({event for event, *_ in rows})
    return {
        event: Line(event, level, frozenset(re.findall(r"\w+", named))) for event, level, named, _ in rows
    }


def test_every_line_is_on_the_page_and_every_line_of_the_page_is_written() -> None:
    assert {line.event for line in written()} == set(documented())


def test_every_line_has_the_level_that_the_page_says() -> None:
    page = documented()
    assert {line.event: line.level for line in written()} == {name: page[name].level for name in page}
    assert {line.level for line in page.values()} == LEVELS


def test_every_field_that_is_written_out_is_on_the_page() -> None:
    page = documented()
    missing = {line.event: line.fields - page[line.event].fields for line in written()}
    assert {event: names for event, names in missing.items() if names} == {}
