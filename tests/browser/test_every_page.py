"""Every page of the console, as its people see it: in both languages, light and dark, wide and narrow."""

import itertools
import re

import pytest

from domain.access import Role, permissions_of
from tests.browser.visitor import NARROW, WIDE, Looks, Visitor, Visitors
from workers.console.guard import Page
from workers.console.routes import PAGES

PARTS = re.compile(r"\{|\.(csv|toml)$|^/login/link$|^/reviews/do/")
"""No pages of their own: what is of one claim or group, a file, and what needs a token."""
LISTED = [page for page in PAGES if page.method == "GET" and not page.renews and not PARTS.search(page.path)]
LOOKS = [
    Looks(language, scheme, size)  # type: ignore[arg-type]
    for (language, scheme), size in zip(
        itertools.product(("pt", "en"), ("light", "dark")), itertools.cycle((WIDE, NARROW)), strict=False
    )
] + [Looks("pt", "light", NARROW)]


def who_may(page: Page) -> Role | None:
    """Somebody who may see the page."""
    needed = page.permission
    return None if needed is None else next(role for role in Role if needed in permissions_of({role}))


@pytest.mark.parametrize("looks", LOOKS, ids=lambda looks: f"{looks.language}-{looks.scheme}-{looks.size[0]}")
async def test_every_page_is_whole_for_everybody_and_asks_nobody_else(
    visitors: Visitors, looks: Looks
) -> None:
    problems: list[str] = []
    for role, pages in itertools.groupby(sorted(LISTED, key=lambda page: str(who_may(page))), key=who_may):
        async with visitors.somebody(role, looks) as visitor:
            for page in pages:
                problems += [f"{page.path}: {problem}" for problem in await problems_of(visitor, page.path)]
    assert not problems, "\n".join(problems)


async def problems_of(visitor: Visitor, path: str) -> list[str]:
    status = await visitor.go(path)
    too_wide = ["wider than its window"] if await visitor.overflows() else []
    unwell = [] if status == 200 else [f"status {status}"]
    return [*unwell, *too_wide, *await visitor.barriers(), *visitor.troubles()]


async def test_a_barrier_is_found_where_there_is_one(visitors: Visitors) -> None:
    async with visitors.somebody(None) as visitor:
        await visitor.go("/login")
        await visitor.page.evaluate("document.querySelector('main').append(document.createElement('img'))")
        assert [one.split(":")[0] for one in await visitor.barriers()] == ["image-alt"]


async def test_a_claims_story_opens_from_the_list_by_the_keyboard_alone(visitors: Visitors) -> None:
    async with visitors.somebody(Role.BILLING) as visitor:
        await visitor.go("/claims")
        await visitor.page.keyboard.press("j")
        await visitor.page.keyboard.press("Enter")
        await visitor.page.wait_for_url(re.compile(r"/claims/CLM-"))
        assert await visitor.barriers() == []
