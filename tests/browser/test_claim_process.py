"""Where a claim stands in its process: drawn under the strict policy, told in words, moved by keys."""

import pytest

from domain.claim_state import ClaimState
from tests.browser.morning import everyone
from tests.browser.visitor import NARROW, WIDE, Looks, Visitors
from workers.claims.places import ELEMENT_OF

VIEW = "document.querySelector('.viewport').getAttribute('transform')"
LINK = "https://bpmn.io"


@pytest.fixture
async def waiting_claim(visitors: Visitors) -> str:
    """The address of a claim that waits for its time."""
    async with visitors.somebody(everyone("pt")) as visitor:
        await visitor.go("/claims?state=waiting")
        address = await visitor.page.get_attribute("[data-row] a", "href")
    assert address
    return address


@pytest.mark.parametrize(
    "looks",
    [Looks("pt", "light", WIDE), Looks("en", "dark", NARROW)],
    ids=lambda looks: f"{looks.language}-{looks.scheme}-{looks.size[0]}",
)
async def test_the_place_is_drawn_told_and_reached_by_the_keyboard(
    visitors: Visitors, waiting_claim: str, looks: Looks
) -> None:
    async with visitors.somebody(everyone(looks.language), looks) as visitor:
        page = visitor.page
        await visitor.go(f"{waiting_claim}/process")
        await page.wait_for_selector("[data-drawn]")
        element = ELEMENT_OF[ClaimState.WAITING]
        assert await page.locator(f".here[data-element-id={element}]").count() == 1
        picture = page.locator(".diagram svg[role=img]").first
        place = {"pt": "espera pela hora do reenvio", "en": "the wait for the time of the retry"}
        assert place[looks.language] in (await picture.get_attribute("aria-label") or "")
        assert await page.locator("main").get_by_text(place[looks.language]).count() > 0
        watermark = page.locator(f".diagram a[href*='{LINK.removeprefix('https://')}']")
        assert await watermark.is_visible()  # the licence of bpmn-js asks for it
        await picture.focus()
        before = await page.evaluate(VIEW)
        await page.keyboard.press("ArrowRight")
        await page.wait_for_function(f"before => {VIEW} !== before", arg=before)
        await (
            page.get_by_role("button")
            .filter(has_text={"pt": "Ver tudo", "en": "See all"}[looks.language])
            .click()
        )
        assert await visitor.barriers() == []
        assert not await visitor.overflows()


async def test_the_viewer_is_loaded_on_no_other_page(visitors: Visitors, waiting_claim: str) -> None:
    async with visitors.somebody(everyone("pt")) as visitor:
        asked: list[str] = []
        visitor.page.on("request", lambda request: asked.append(request.url))
        await visitor.go(waiting_claim)
        assert not [url for url in asked if "bpmn" in url]
