"""Every route, every role: who gets what; and what every answer says to the browser."""

from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Match, Route

from domain.access import MAY, Permission, Role
from tests.support.console_stage import ConsoleStage, csrf_in
from workers.console.guard import Page
from workers.console.routes import PAGES, console_app

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
GUARDED = [page for page in PAGES if page.permission]
NAMED = {
    "claim_id": "CLM-1-1",
    "claim_id:path": "CLM-1-1",
    "payer_id:path": "p",
    "outbox_id": "o",
    "login": "nobody",
} | {
    "bulk_id": "1",
    "filter_id": "1",
    "kpi": "exhausted",
    "kind": "failures",
    "first": "2026-01-01",
    "run": "1",
}


def address(page: Page) -> str:
    path = page.path
    for name, value in NAMED.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def sent(page: Page, data: dict[str, str]) -> dict[str, Any]:
    """A form as its page sends it."""
    if page.takes_file or page.takes_files:
        return {"data": data, "files": {"files" if page.takes_files else "file": ("x.xml", b"<x/>")}}
    return {"data": data}


def taken_by(app: Starlette, page: Page) -> Route | None:
    """Which route answers a page's address."""
    scope = {"type": "http", "method": page.method, "path": address(page), "root_path": "", "headers": []}
    routes = [route for route in app.routes if isinstance(route, Route)]
    return next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)


def label(page: Page) -> str:
    return f"{page.method} {page.path}"


async def test_every_route_stands_in_the_table_and_is_tried_at_its_own_address(stage: ConsoleStage) -> None:
    app = console_app(stage.console)
    paths = [route.path for route in app.routes if isinstance(route, Route)]
    assert len(paths) == len(app.routes)
    assert paths == [*(page.path for page in PAGES), "/static/{name}"]
    assert [label(page) for page in PAGES if "{" in address(page)] == []
    taken = [(label(page), taken_by(app, page)) for page in PAGES]
    assert [(name, route and route.path) for name, route in taken] == [
        (label(page), page.path) for page in PAGES
    ]


@pytest.mark.parametrize("page", GUARDED, ids=label)
async def test_nobody_gets_in_without_login(stage: ConsoleStage, page: Page) -> None:
    async with stage.browser() as browser:
        answer = await browser.request(page.method, address(page))
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login")
        part = await browser.request(page.method, address(page), headers={"hx-request": "true"})
        assert (part.status_code, part.headers["hx-redirect"]) == (401, "/login")


@pytest.mark.parametrize("role", list(Role))
async def test_each_role_gets_what_its_permissions_say(stage: ConsoleStage, role: Role) -> None:
    async with stage.logged_in(role) as browser:
        token = csrf_in(await browser.get("/account"))
        for page in sorted(GUARDED, key=lambda page: page.path == "/logout"):
            body = sent(page, {"csrf": token}) if page.method == "POST" else {}
            answer = await browser.request(page.method, address(page), **body)
            is_let_in = answer.status_code != 403
            assert is_let_in is (page.permission in MAY[role]), (role, label(page), answer.status_code)


@pytest.mark.parametrize("page", [page for page in GUARDED if page.method == "POST"], ids=label)
async def test_no_form_is_taken_without_its_token(stage: ConsoleStage, page: Page) -> None:
    async with stage.logged_in(*(set(Role) - {Role.AUDITOR})) as browser:
        assert page.permission is not Permission.SEE_AUDIT
        for data in ({}, {"csrf": ""}, {"csrf": "forged"}):
            answer = await browser.post(address(page), **sent(page, data))
            assert answer.status_code == 403 or (not data and answer.status_code == 413)
        assert (await browser.get("/account")).status_code == 200


@pytest.mark.parametrize("path", ["/login", "/account", "/no-such-page", "/static/console.css", "/static/no"])
async def test_every_answer_has_the_headers_that_keep_others_out(stage: ConsoleStage, path: str) -> None:
    async with stage.browser() as browser:
        headers = (await browser.get(path)).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"  # no-referrer: browsers hide our forms' origin
    assert ("immutable" in headers["cache-control"]) is (path == "/static/console.css")
    assert path == "/static/console.css" or headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["/static/../routes.py", "/static/%2e%2e/routes.py", "/static/console.css.bak"]
)
async def test_no_other_file_is_handed_out(stage: ConsoleStage, path: str) -> None:
    async with stage.browser() as browser:
        assert (await browser.get(path)).status_code == 404


@pytest.mark.parametrize("path", ["/no-such-page", "/login/../account/none"])
async def test_an_unknown_page_says_so_in_our_words(stage: ConsoleStage, path: str) -> None:
    async with stage.browser() as browser:
        answer = await browser.get(path)
        assert answer.status_code == 404
        assert "Esta página não existe." in answer.text


async def test_a_fault_of_ours_is_a_page_without_details(
    stage: ConsoleStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret detail")

    async with stage.logged_in(Role.VIEWER) as browser:
        monkeypatch.setattr("workers.console.pages.account.sorted", broken, raising=False)
        answer = await browser.get("/account")
    assert answer.status_code == 500
    assert "Algo falhou do nosso lado" in answer.text
    assert "secret" not in answer.text
    assert "content-security-policy" in answer.headers
