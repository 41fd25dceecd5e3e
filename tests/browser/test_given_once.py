"""Orders at the browser: given once however often one clicks, and not again by going back."""

import asyncio

from playwright.async_api import Route

from domain.access import Role
from tests.browser.morning import Morning, everyone
from tests.browser.visitor import NARROW, Looks, Visitors
from tests.support.console_stage import ConsoleStage

WIDER_THAN_SHOWN = """[...document.querySelectorAll('main .scroll:has(table)')]
    .filter((one) => one.scrollWidth > one.clientWidth).length"""
CLAIMS = "/claims/{claim_id:path}"


async def notes(console: ConsoleStage, claim_id: str) -> list[str]:
    kept = await console.store.look(lambda tx: tx.orders.about_claim(claim_id))
    return [one.reason for one in kept if one.action == "review note"]


async def test_who_clicks_again_while_nothing_happens_gives_one_order_and_going_back_gives_none(
    visitors: Visitors, morning: Morning, console: ConsoleStage
) -> None:
    place, sent, answering = morning.places[CLAIMS][1], list[str](), asyncio.Event()

    async def slowly(route: Route) -> None:
        sent.append(route.request.url)
        await answering.wait()
        await route.continue_()

    async with visitors.somebody(everyone("pt")) as visitor:
        await visitor.go(place)
        await visitor.page.route("**/note", slowly)
        part = await visitor.unfold(visitor.words("review_act.note"))
        await part.locator("[name='reason']").fill("dito uma vez")
        button = part.get_by_role("button", name=visitor.words("review_act.note_do"), exact=True)
        await button.scroll_into_view_if_needed()
        where = await button.bounding_box()
        assert where
        for _ in range(3):
            await visitor.page.mouse.click(where["x"] + 5, where["y"] + 5)
        answering.set()
        await visitor.reads(visitor.words("review_said.noted"))
        assert len(sent) == 1
        await visitor.page.go_back()
        await visitor.page.reload()
        await visitor.page.go_forward()
        assert await notes(console, place.removeprefix("/claims/")) == ["dito uma vez"]
        await visitor.go(place)
        await visitor.act(
            visitor.words("review_act.note"), visitor.words("review_act.note_do"), reason="e outra"
        )
        await visitor.reads("e outra")


async def test_some_claims_of_a_group_are_chosen_by_the_keyboard_alone(visitors: Visitors) -> None:
    async with visitors.somebody(everyone("pt")) as visitor:
        await visitor.go("/reviews/group?reason=PERMANENT_ERROR&category=INVALID_PATIENT_DATA")
        for key in ("j", "x", "j", "j", "x"):
            await visitor.page.keyboard.press(key)
        assert await visitor.page.locator("input[name=only]:checked").count() == 2
        await visitor.press(visitor.words("reviews.only_chosen"))
        await visitor.reads(visitor.words("reviews.chosen"))
        assert await visitor.page.locator("[data-row]").count() == 2
        assert await visitor.barriers() == []


async def test_tables_are_read_on_a_phone_without_moving_them_sideways(
    visitors: Visitors, morning: Morning
) -> None:
    places = [
        *morning.places["/reports/{kind}/{first}"],
        *morning.places["/policy/what-if/{run}"],
        "/indicators",
    ]
    async with visitors.somebody(everyone("pt"), Looks("pt", "light", NARROW)) as visitor:
        for place in places:
            await visitor.go(place)
            assert await visitor.page.evaluate(WIDER_THAN_SHOWN) == 0, place


async def test_who_audits_reads_roles_by_their_names(visitors: Visitors) -> None:
    async with visitors.somebody(Role.AUDITOR) as visitor:
        await visitor.go("/audit")
        await visitor.reads("guest: Consulta")
