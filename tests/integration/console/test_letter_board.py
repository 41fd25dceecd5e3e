"""Mail that did not arrive: found, read by who may, removed as many as were shown."""

import re
from datetime import timedelta

import httpx

from domain.access import Role
from persistence.store import Store
from tests.integration.console.boards import WHO, orders, send, shown
from tests.support.board_scene import BoardScene
from tests.support.builders import NOW
from tests.support.console_stage import ConsoleStage
from tests.support.mails import keep_dead


async def test_letters_are_narrowed_by_their_address_and_counted(
    everyone: httpx.AsyncClient, store: Store
) -> None:
    await BoardScene(store, NOW).letters()
    for query, number in (
        ("", 27),
        ("?code=550", 12),
        ("?company=hospital-central", 9),
        ("?age=over-day", 12),
        ("?age=last-hour", 6),
        ("?code=550&company=clinica-mar", 0),
        ("?code=' OR 1=1 --", 0),
        ("?age=nonsense&after=nonsense", 27),
    ):
        assert f'role="status">{number} aviso' in await shown(everyone, f"/letters{query}")
    page = await shown(everyone, "/letters")
    assert "6 na última hora, 0,6 por hora no último dia" in page
    assert "number-" not in page  # nobody's address


async def test_pages_of_letters_follow_each_other(everyone: httpx.AsyncClient, store: Store) -> None:
    await keep_dead(store, range(120), at=NOW - timedelta(hours=1))
    seen: list[str] = []
    link: str | None = "/letters"
    while link:
        text = await shown(everyone, link)
        seen += re.findall(r'<a class="id" href="(/letters/[^"]+)"', text)
        following = re.search(r'href="([^"]+)" rel="next"', text)
        link = following[1] if following else None
    assert len(seen) == len(set(seen)) == 120


async def test_what_a_letter_says_is_read_by_who_may_and_says_why(
    stage: ConsoleStage, everyone: httpx.AsyncClient, store: Store
) -> None:
    [letter] = await keep_dead(store, [7])
    page = await shown(everyone, f"/letters/{letter}")
    assert "number-7@hospital.example" not in page
    assert (await send(everyone, f"/letters/{letter}/read", reason=" ")).status_code == 303
    assert await orders(store) == []
    opened = await send(everyone, f"/letters/{letter}/read", reason="the address bounced")
    assert "number-7@hospital.example" in opened.text
    assert await orders(store) == [(f"dlq show {letter}", WHO, "the address bounced")]
    async with stage.logged_in(Role.BILLING_MANAGEMENT, login="bia") as other:
        assert f"/letters/{letter}/read" not in await shown(other, f"/letters/{letter}")
        assert (await send(other, f"/letters/{letter}/read", reason="curious")).status_code == 403


async def purge(everyone: httpx.AsyncClient, query: str, **fields: str) -> httpx.Response:
    """What the preview's form sends, with changes."""
    page = await shown(everyone, f"/letters/purge{query}")
    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    return await everyone.post("/letters/purge", data=form | {"reason": "too old"} | fields)


async def test_letters_are_removed_as_many_as_were_shown_on_record(
    everyone: httpx.AsyncClient, store: Store
) -> None:
    await BoardScene(store, NOW).letters()
    answer = await purge(everyone, "?code=550")
    assert answer.headers["location"] == "/letters?said=purged&n=12"
    assert "12 avisos foram removidos." in await shown(everyone, answer.headers["location"])
    assert await store.look(lambda tx: tx.dead_letters.count()) == 15
    assert await orders(store) == [("dlq purge of 12, 550", WHO, "too old")]


async def test_another_number_than_was_shown_stops_a_removal(
    everyone: httpx.AsyncClient, store: Store
) -> None:
    await BoardScene(store, NOW).letters()
    answer = await purge(everyone, "?code=550", number="11")
    assert "O número mudou desde que você olhou" in answer.text
    assert (await purge(everyone, "?code=550", reason="")).status_code == 200
    assert await store.look(lambda tx: tx.dead_letters.count()) == 27
    assert await orders(store) == []


async def test_letters_that_came_after_the_preview_are_not_meant(
    stage: ConsoleStage, everyone: httpx.AsyncClient, store: Store
) -> None:
    await keep_dead(store, range(3), at=NOW - timedelta(hours=1))
    page = await shown(everyone, "/letters/purge")
    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    await keep_dead(store, range(10, 12), at=NOW + timedelta(minutes=1))
    stage.clock.wait(minutes=2)
    answer = await everyone.post("/letters/purge", data=form | {"reason": "why"})
    assert answer.headers["location"].endswith("n=3")
    assert await store.look(lambda tx: tx.dead_letters.count()) == 2


async def test_nothing_to_act_on_leads_back(everyone: httpx.AsyncClient) -> None:
    for act in ("redrive", "purge"):
        answer = await everyone.get(f"/letters/{act}?code=550")
        assert answer.headers["location"] == "/letters?code=550&said=none"
