"""Every page of the console, as its people see it: in both languages, light and dark, wide and narrow.

Axe asks by all rules once, and once more in the dark about contrast: what else it knows is the same there.
"""

import itertools
import re
from collections.abc import Sequence

import pytest

from domain.access import Role
from tests.browser.morning import SHOWN, Morning, everyone
from tests.browser.visitor import NARROW, WIDE, Looks, Visitor, Visitors

LOOKS = (
    (Looks("pt", "light", WIDE), ()),
    (Looks("pt", "dark", NARROW), ("color-contrast",)),
    (Looks("pt", "light", NARROW), None),
    (Looks("en", "dark", WIDE), None),
    (Looks("en", "light", NARROW), None),
)
"""With what axe is asked: nothing, by these rules, or by all."""


@pytest.mark.parametrize(
    ("looks", "rules"), LOOKS, ids=[f"{one.language}-{one.scheme}-{one.size[0]}" for one, _ in LOOKS]
)
async def test_every_page_is_whole_for_everybody_and_asks_nobody_else(
    visitors: Visitors, morning: Morning, looks: Looks, rules: Sequence[str] | None
) -> None:
    problems: list[str] = []
    by_person = sorted(morning.addresses(), key=lambda one: str(one[1]))
    for who, places in itertools.groupby(by_person, key=lambda one: one[1]):
        login = everyone(looks.language) if isinstance(who, str) and not isinstance(who, Role) else who
        async with visitors.somebody(login, looks) as visitor:
            for place, _ in places:
                problems += [f"{place}: {problem}" for problem in await problems_of(visitor, place, rules)]
    assert not problems, "\n".join(problems)


async def problems_of(visitor: Visitor, path: str, rules: Sequence[str] | None) -> list[str]:
    status = await visitor.go(path)
    unwell = [] if status == 200 else [f"status {status}"]
    leftovers = await visitor.leftovers()  # before axe unfolds what only auditors open: exact records
    barriers = await visitor.barriers(*rules) if rules is not None else []
    too_wide = ["wider than its window"] if await visitor.overflows() else []
    return [*unwell, *too_wide, *barriers, *leftovers, *visitor.troubles()]


def test_every_page_has_an_address(morning: Morning) -> None:
    known = {place for place, _ in morning.addresses()}
    assert [place for place in known if "{" in place] == []
    assert len(known) >= len(SHOWN)


async def test_a_barrier_is_found_where_there_is_one(visitors: Visitors) -> None:
    async with visitors.somebody(None) as visitor:
        await visitor.go("/login")
        await visitor.page.evaluate("document.querySelector('main').append(document.createElement('img'))")
        assert [one.split(":")[0] for one in await visitor.barriers()] == ["image-alt"]


async def test_a_claims_story_opens_from_the_list_by_the_keyboard_alone(visitors: Visitors) -> None:
    async with visitors.somebody(everyone("pt")) as visitor:
        await visitor.go("/claims")
        await visitor.page.keyboard.press("j")
        await visitor.page.keyboard.press("Enter")
        await visitor.page.wait_for_url(re.compile(r"/claims/CLM-"))
        assert await visitor.barriers() == []
