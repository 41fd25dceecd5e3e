"""Somebody at the console: comes in by its login page, and sees whether anything leaves this machine."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from playwright.async_api import Browser, Page, Request, ViewportSize

from domain.access import Role
from tests.support.console_stage import PASSWORD

ARGUMENTS = [
    "--no-sandbox",  # the tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, NARROW = (1280, 900), (390, 844)
SERIOUS = ("serious", "critical")
Scheme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Looks:
    """How somebody sees it."""

    language: str = "pt"
    scheme: Scheme = "light"
    size: tuple[int, int] = WIDE


@dataclass(frozen=True, slots=True)
class Visitor:
    """A page, and what went wrong on it."""

    page: Page
    base: str
    outside: list[str]
    errors: list[str]

    async def go(self, path: str) -> int:
        """Open a page; its status."""
        answer = await self.page.goto(f"{self.base}{path}")
        assert answer is not None
        return answer.status

    def troubles(self) -> list[str]:
        """What broke since somebody looked, or was asked of other hosts."""
        found = [*self.errors, *(f"asked of {url}" for url in self.outside)]
        self.errors.clear()
        self.outside.clear()
        return found

    async def barriers(self) -> list[str]:
        """What axe finds that keeps somebody out, with the places."""
        # by the debugger's way in: the page's own policy allows no script but its files
        await self.page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
        found: dict[str, Any] = await self.page.evaluate("axe.run()")
        return [
            f"{one['id']}: {one['help']} {json.dumps([node['target'] for node in one['nodes']][:3])}"
            for one in found["violations"]
            if one["impact"] in SERIOUS
        ]

    async def overflows(self) -> bool:
        """Whether the page is wider than its window."""
        return bool(await self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


@dataclass(frozen=True, slots=True)
class Visitors:
    """People of every role."""

    browser: Browser
    base: str

    @asynccontextmanager
    async def somebody(self, role: Role | None, looks: Looks = Looks()) -> AsyncIterator[Visitor]:  # noqa: B008
        """A browser of one person, logged in; what it asked of other hosts and what broke must stay empty."""
        tag = {"pt": "pt-BR", "en": "en-US"}[looks.language]
        width, height = looks.size
        context = await self.browser.new_context(
            locale=tag,
            color_scheme=looks.scheme,
            viewport=ViewportSize(width=width, height=height),
            reduced_motion="reduce",
        )
        visitor = Visitor(await context.new_page(), self.base, [], [])
        visitor.page.on("request", lambda request: _note_outside(visitor, request))
        visitor.page.on("pageerror", lambda error: visitor.errors.append(str(error)))
        visitor.page.on(
            "console", lambda said: visitor.errors.append(said.text) if said.type == "error" else None
        )
        if role is not None:
            await _log_in(visitor, login_of(role, looks.language))
        yield visitor
        await context.close()
        assert (visitor.outside, visitor.errors) == ([], [])


def _note_outside(visitor: Visitor, request: Request) -> None:
    if not request.url.startswith((visitor.base, "data:")):
        visitor.outside.append(request.url)


def login_of(role: Role, language: str) -> str:
    """Who has this role and reads this language."""
    return f"{role.value.replace('_', '-')}-{language}"


async def _log_in(visitor: Visitor, login: str) -> None:
    await visitor.go("/login")
    await visitor.page.fill("input[name=login]", login)
    await visitor.page.fill("input[name=password]", PASSWORD)
    await visitor.page.keyboard.press("Enter")
    await visitor.page.wait_for_url(lambda url: "/login" not in url)
