"""Somebody at the console: comes in by its login page, and sees whether anything leaves this machine."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from playwright.async_api import Browser, Locator, Page, Request, ViewportSize, expect

from domain.access import Role
from tests.support.console_stage import PASSWORD
from workers.console.words import Words, words_of

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
PATIENCE_MS = 60_000
"""A busy machine is no fault of a page."""
INTERNAL = re.compile(r"\b[A-Z]{2,}(?:_[A-Z]+)+\b|\bNone\b|\bundefined\b|\{\w+\}")
"""Words of ours, not of who reads."""
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
    language: str
    outside: list[str]
    errors: list[str]

    @property
    def words(self) -> Words:
        """What who sits here reads."""
        return words_of(self.language)

    async def go(self, path: str) -> int:
        """Open a page; its status."""
        answer = await self.page.goto(f"{self.base}{path}")
        assert answer is not None
        return answer.status

    async def press(self, name: str) -> None:
        """Click the button or the link that says this."""
        either = self.page.get_by_role("button", name=name, exact=True)
        await either.or_(self.page.get_by_role("link", name=name, exact=True)).first.click()

    async def act(self, offer: str, do: str, /, **fields: str) -> None:
        """Unfold what is offered under these words, fill it in, tick what must be ticked, and send it."""
        part = await self.unfold(offer)
        for name, value in fields.items():
            await _fill(part.locator(f"[name='{name}']"), value)
        for box in await part.locator("input[type=checkbox][required]").all():
            await box.check()
        await part.get_by_role("button", name=do, exact=True).click()

    async def unfold(self, offer: str) -> Locator:
        """Open what is offered under these words."""
        summary = self.page.locator("summary").get_by_text(offer, exact=True)
        part = self.page.locator("details").filter(has=summary)
        if await part.get_attribute("open") is None:
            await part.locator("summary").click()
        return part

    async def reads(self, text: str) -> None:
        """Wait until the page says this."""
        await expect(self.page.locator("main")).to_contain_text(text, timeout=PATIENCE_MS)

    async def leftovers(self) -> list[str]:
        """Words of ours on the page that nobody else should have to know."""
        text = await self.page.locator("body").inner_text()
        return [f"says {one}" for one in dict.fromkeys(INTERNAL.findall(text))]

    def troubles(self) -> list[str]:
        """What broke since somebody looked, or was asked of other hosts."""
        found = [*self.errors, *(f"asked of {url}" for url in self.outside)]
        self.errors.clear()
        self.outside.clear()
        return found

    async def barriers(self, *rules: str) -> list[str]:
        """What axe finds that keeps somebody out, with the places, unfolded; by all rules or these."""
        await self.page.evaluate(
            "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
        )
        # by the debugger's way in: the page's own policy allows no script but its files
        await self.page.evaluate(_axe())
        asked = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
        found: dict[str, Any] = await self.page.evaluate("(asked) => axe.run(asked)", asked)
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
    async def somebody(
        self,
        who: Role | str | None,
        looks: Looks = Looks(),  # noqa: B008
        password: str = PASSWORD,
    ) -> AsyncIterator[Visitor]:
        """A browser of one person, logged in; what it asked of other hosts and what broke must stay empty.

        Of a role, there is one for each language; others have logins.
        """
        tag = {"pt": "pt-BR", "en": "en-US"}[looks.language]
        width, height = looks.size
        context = await self.browser.new_context(
            locale=tag,
            color_scheme=looks.scheme,
            viewport=ViewportSize(width=width, height=height),
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE_MS)
        visitor = Visitor(await context.new_page(), self.base, looks.language, [], [])
        visitor.page.on("request", lambda request: _note_outside(visitor, request))
        visitor.page.on("pageerror", lambda error: visitor.errors.append(str(error)))
        visitor.page.on(
            "console", lambda said: visitor.errors.append(said.text) if said.type == "error" else None
        )
        if who is not None:
            login = login_of(who, looks.language) if isinstance(who, Role) else who
            await _log_in(visitor, login, password)
        yield visitor
        await context.close()
        assert (visitor.outside, visitor.errors) == ([], [])


def _note_outside(visitor: Visitor, request: Request) -> None:
    if not request.url.startswith((visitor.base, "data:")):
        visitor.outside.append(request.url)


def login_of(role: Role, language: str) -> str:
    """Who has this role and reads this language."""
    return f"{role.value.replace('_', '-')}-{language}"


async def _log_in(visitor: Visitor, login: str, password: str) -> None:
    await visitor.go("/login")
    await visitor.page.fill("input[name=login]", login)
    await visitor.page.fill("input[name=password]", password)
    await visitor.page.keyboard.press("Enter")
    await visitor.page.wait_for_url(lambda url: "/login" not in url)


async def _fill(field: Locator, value: str) -> None:
    """A list offers its values, a box is ticked, everything else is typed."""
    kind = await field.first.evaluate("(one) => one.type")
    if kind == "select-one":
        await field.select_option(value)
    elif kind in ("checkbox", "radio"):
        await field.set_checked(bool(value))
    elif kind == "file":
        await field.set_input_files(value)
    else:
        await field.fill(value)


@cache
def _axe() -> str:
    return files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
