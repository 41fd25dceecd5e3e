"""The runbook: a page for every alert and every incident, with commands that exist."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer import Context
from typer.core import TyperGroup
from typer.main import get_command

from domain.mail.codes import OURS
from tests.support.alert_rules import ROOT, Alert, alerts, grouped_by
from workers.cli.app import build

PAGE = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^#{2,3} ", PAGE, flags=re.MULTILINE)[1:]
HEADING = re.compile(r"^#{1,4} (.+)$", re.MULTILINE)
INLINE = re.compile(r"`(reenvio [^`]+)`")
BLOCK = re.compile(r"^    (reenvio .+?)(?:  +#.*)?$", re.MULTILINE)
LINK = re.compile(r"\]\(([\w./-]*)#([\w-]+)\)")
PLACE = re.compile(r"`(workers/[\w/]+\.py):(\w+)`")
SAYS = re.compile(r"^Says (.+?)\. From ", re.MULTILINE)
QUOTING = [section for section in SECTIONS if SAYS.search(section)]
OUTCOMES = ("Incident", "Fail")
"""What ends in an incident: at once, or when its retries have run out."""


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as the hosts of Markdown make them."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(page))
    return {heading.strip().replace(" ", "-") for heading in plain}


def raised_in(file: Path) -> Iterator[str]:
    """The functions and classes of a file that answer with what ends in an incident."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        calls = (one.func for one in ast.walk(node) if isinstance(one, ast.Call))
        if any(isinstance(call, ast.Name) and call.id in OUTCOMES for call in calls):
            assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            yield f"{file.relative_to(ROOT)}:{node.name}"


@cache
def words_of(file: Path) -> str:
    """All texts of a file, one after the other, with … for what is filled in."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    texts = [one for one in ast.walk(tree) if isinstance(one, ast.JoinedStr | ast.Constant)]
    return "\n".join(_text(one) for one in texts)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values):
            return "".join(_text(one) for one in values)
        case _:
            return "…"


def product_places() -> set[str]:
    return {place for file in sorted((ROOT / "workers").rglob("*.py")) for place in raised_in(file)}


def commands() -> list[str]:
    return sorted({*INLINE.findall(PAGE), *BLOCK.findall(PAGE)})


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_each_alert_has_its_page(alert: Alert) -> None:
    page, _, anchor = alert.annotations["runbook_url"].partition("#")
    assert page == "docs/runbook.md"
    assert anchor == alert.name.lower()
    assert anchor in anchors(PAGE)


def names_somebody(alert: Alert) -> bool:
    """Whether it may ring for a payer or company, also for those that share a label."""
    return bool({"payer", "company"} & set(grouped_by(alert.expr))) and '!="other"' not in alert.expr


@pytest.mark.parametrize(
    "alert", [one for one in alerts() if names_somebody(one)], ids=lambda alert: alert.name
)
def test_who_is_woken_for_a_payer_or_company_without_a_label_is_told_how_to_find_it(alert: Alert) -> None:
    assert "`other`" in page_of(alert.name)


def page_of(alert: str) -> str:
    [page] = [one for one in SECTIONS if one.startswith(f"{alert}\n")]
    return page


SAYS_WHY_NOT_READY = (
    "workers/runtime/health.py",
    "workers/upkeep/keys.py",
    "persistence/store.py",
    "persistence/database/trouble.py",
    "gateways/own_limits.py",
)
ROWS = re.findall(r"^\| (.+?) \| .+ \|$", page_of("ReenvioWorkerNotReady"), re.MULTILINE)[1:]


@pytest.mark.parametrize("row", ROWS)
def test_what_the_runbook_says_of_readyz_is_what_it_says(row: str) -> None:
    words, quotes = [words_of(ROOT / file) for file in SAYS_WHY_NOT_READY], re.findall(r"`([^`]+)`", row)
    assert quotes
    for pieces in ([piece.strip() for piece in quoted.split("…")] for quoted in quotes):
        assert any(all(piece in text for piece in pieces) for text in words)


@pytest.mark.parametrize("code", [one for one in OURS if one.isdigit()])
def test_a_refused_login_of_ours_is_found_from_both_alerts_that_it_rings(code: str) -> None:
    assert code in page_of("ReenvioMailFailures")
    assert "`mail_held_back`" in page_of("ReenvioMailFailures")
    assert "`mail_held_back`" in page_of("ReenvioMailSlow")


def test_no_page_is_of_an_alert_that_is_gone() -> None:
    named = set(re.findall(r"^### (Reenvio\w+)", PAGE, re.MULTILINE))
    assert named == {alert.name for alert in alerts()}


def test_every_incident_that_workers_can_raise_has_its_page() -> None:
    assert {f"{file}:{name}" for file, name in PLACE.findall(PAGE)} == product_places()


@pytest.mark.parametrize(
    "section", [one for one in SECTIONS if SAYS.search(one)], ids=lambda one: one.splitlines()[0]
)
def test_an_incidents_page_quotes_what_the_code_says(section: str) -> None:
    said = SAYS.search(section)
    assert said is not None
    for quoted in re.findall(r"`([^`]+)`", said.group(1)):
        assert any(_is_said(quoted, Path(ROOT / file)) for file, _ in PLACE.findall(section)), quoted


def _is_said(quoted: str, file: Path) -> bool:
    """In that file, or in one beside it that it takes its words from."""
    pieces = [piece.strip() for piece in quoted.split("…") if piece.strip()]
    near = [file, *file.parent.glob("*.py"), ROOT / "domain/errors.py", ROOT / "workers/upkeep/clocks.py"]
    return any(all(piece in words_of(one) for piece in pieces) for one in near)


@pytest.mark.parametrize("command", commands())
def test_every_command_of_the_runbook_exists_and_is_understood(command: str) -> None:
    found: Any = get_command(build())
    arguments = shlex.split(command)[1:]
    while isinstance(found, TyperGroup) and arguments:
        _, found, arguments = found.resolve_command(Context(found), arguments)
    if not isinstance(found, TyperGroup):
        found.make_context(command, arguments)  # reads the arguments, and does nothing


def test_every_link_leads_somewhere() -> None:
    for page, anchor in LINK.findall(PAGE):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8") if page else PAGE
        assert anchor in anchors(text), f"{page}#{anchor}"
