"""docs/traces.md names every span and every attribute that there is, and no other."""

import ast
import re
from pathlib import Path

from bpmn.names import Message
from persistence.database.watch import Access
from workers.app.tracing.spans import STARTING

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")
CODE = sorted((ROOT / "workers" / "app" / "tracing").glob("*.py"))
ATTRIBUTE = re.compile(r"(?:reenvio|http)\.[a-z_.]+")


def texts() -> set[str]:
    """Every text of the code that is no docstring."""
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in CODE]
    found = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {text for text in found if isinstance(text, str) and "\n" not in text}


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| `")]
    return [[re.findall(r"`([^`]+)`", cell) for cell in line.split("|")][1:] for line in lines]  # type: ignore[misc]


def test_every_attribute_is_on_the_page_and_every_one_of_the_page_is_told() -> None:
    told = {text for text in texts() if ATTRIBUTE.fullmatch(text)}
    assert {name for row in rows() for name in row[3]} == told


def test_every_span_is_on_the_page_and_every_one_of_the_page_is_made() -> None:
    named = {name for row in rows() for name in row[0]}
    database = {f"database {access}" for access in Access}
    starting = {str(message) for message in STARTING}
    assert starting == {Message.CLAIM_READY, Message.EMAIL_QUEUED}
    others = {"payer send", "soap exchange", "mail send", "decision"}
    assert named == database | starting | others | {"job TYPE"}
    assert others | {"job ", "database "} <= texts()
