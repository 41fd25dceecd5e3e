"""Some of a group, chosen one by one; and an order that is sent twice is one order."""

import asyncio
import re
from html import unescape
from urllib.parse import urlencode

import pytest

from domain.access import Role
from domain.bulk_orders import BulkAction, BulkItemState, BulkRefusal, BulkState
from domain.catalog import Team
from domain.operators import attribution
from domain.payer_status import PayerState
from persistence.repositories.review_desk import INCIDENT, DeskFilter
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.console_scene import CARD, NORTH, ConsoleScene
from tests.support.console_stage import ConsoleStage
from workers.claims.bulk_desk import BulkWish, Signer

GROUP = {"reason": "PERMANENT_ERROR", "payer": NORTH}
HIDDEN = re.compile(r'name="(csrf|selection|mark|number)" value="([^"]*)"')
WHY = {"reason": "cards were mended"}


async def suspended(store: Store, number: int) -> list[str]:
    scene = ConsoleScene(store, NOW)
    return [
        await scene.in_review(NORTH, CARD, Team.REGISTRATION, hours=number - n, due=40) for n in range(number)
    ]


def form_in(text: str) -> dict[str, str]:
    return {name: unescape(value) for name, value in HIDDEN.findall(text)}


async def test_what_is_ordered_of_the_chosen_is_done_to_them_alone(stage: ConsoleStage, store: Store) -> None:
    claims = await suspended(store, 5)
    async with stage.logged_in(Role.BILLING) as browser:
        group = (await browser.get(f"/reviews/group?{urlencode(GROUP)}")).text
        assert re.findall(r'name="only" value="([^"]+)"', group) == claims
        asked = urlencode([*GROUP.items(), ("only", claims[1]), ("only", claims[3])])
        chosen = unescape((await browser.get(f"/reviews/group?{asked}")).text)
        assert [one in chosen for one in claims] == [False, True, False, True, False]
        assert "Só as escolhidas" in chosen
        [link] = re.findall(r'href="(/reviews/do/resend[^"]+)"', chosen)
        preview = (await browser.get(link)).text
        assert "2 serão reenviadas" in preview
        placed = await browser.post("/reviews/do/resend", data=form_in(preview) | WHY)
        assert placed.headers["location"] == "/reviews/bulk/1"
        seen = (await browser.get("/reviews/bulk/1")).text
        assert "Reenvio de 2 cobranças" in seen
    kept = await store.look(lambda tx: tx.bulk_orders.items(1, 9, BulkItemState.PENDING))
    assert [one.claim_id for one in kept] == [claims[1], claims[3]]


async def test_some_that_stand_on_incidents_are_not_all_that_do(store: Store) -> None:
    scene = ConsoleScene(store, NOW)
    stuck = [await scene.incident(NORTH) for _ in range(3)]
    wanted = DeskFilter(reason=INCIDENT, claim_ids=frozenset(stuck[:1]))
    found = await store.look(lambda tx: tx.review_desk.selected(wanted, 9))
    assert [one.claim_id for one in found] == stuck[:1]


@pytest.mark.parametrize("only", ["nonsense", "' OR 1=1 --", "CLM-302147-PREST0001-1"])
async def test_a_choice_of_nothing_is_not_the_whole_group(
    stage: ConsoleStage, store: Store, only: str
) -> None:
    await suspended(store, 2)
    async with stage.logged_in(Role.BILLING) as browser:
        page = await browser.get(f"/reviews/group?{urlencode(GROUP | {'only': only})}")
        assert page.status_code == 200
        assert "Nenhuma cobrança neste grupo agora." in page.text
        assert "/reviews/do/resend" not in page.text


async def test_an_order_that_is_sent_twice_is_one_order(stage: ConsoleStage, store: Store) -> None:
    """Who clicks twice is led to their order, and not told that nothing was done."""
    await suspended(store, 3)
    async with stage.logged_in(Role.BILLING) as browser, stage.logged_in(Role.BILLING, login="rui") as other:
        form = form_in((await browser.get(f"/reviews/do/resend?{urlencode(GROUP)}")).text) | WHY
        theirs = form_in((await other.get(f"/reviews/do/resend?{urlencode(GROUP)}")).text) | WHY
        answers = [await browser.post("/reviews/do/resend", data=form) for _ in range(2)]
        late = await other.post("/reviews/do/resend", data=theirs)
        stage.clock.wait(minutes=2)
        again = await browser.post("/reviews/do/resend", data=form)
    assert [one.headers.get("location") for one in answers] == ["/reviews/bulk/1"] * 2
    assert [late.status_code, again.status_code] == [409, 409]
    assert "outra ação em grupo já cuida delas" in late.text
    orders = await store.look(lambda tx: tx.bulk_orders.newest(9))
    assert [(one.state, one.number) for one in orders] == [(BulkState.RUNNING, 3)]


async def test_of_many_people_at_the_same_moment_one_places_the_order(
    stage: ConsoleStage, store: Store
) -> None:
    await suspended(store, 20)
    desk, wanted = stage.console.bulk, DeskFilter(reason="PERMANENT_ERROR", payer_id=NORTH)
    seen = await desk.preview(BulkAction.RESEND, wanted)
    wish = BulkWish(BulkAction.RESEND, wanted, "/reviews/group", seen.mark)

    async def place(number: int) -> bool:
        try:
            signer = Signer(f"p{number}", attribution(f"p{number}", "mended"))
            return isinstance(await desk.place(wish, signer), int)
        except BulkRefusal:
            return False

    placed = await asyncio.gather(*(place(number) for number in range(12)))
    assert placed.count(True) == 1
    assert len(await store.look(lambda tx: tx.bulk_orders.newest(20))) == 1


@pytest.mark.parametrize("state", [PayerState.PAUSED, PayerState.OPEN])
async def test_no_end_is_promised_where_the_payer_takes_none(
    stage: ConsoleStage, store: Store, state: PayerState
) -> None:
    await suspended(store, 3)
    await ConsoleScene(store, NOW).payer(NORTH, state)
    async with stage.logged_in(Role.BILLING) as browser:
        page = (await browser.get(f"/reviews/do/resend?{urlencode(GROUP)}")).text
    assert "3 serão reenviadas, saem quando a operadora voltar a receber." in page
    assert ", fim " not in page
