"""Orders about many claims: previewed, checked again, paced, carried on by whoever is up, looked back at."""

import asyncio
import re
from datetime import timedelta
from html import unescape

import httpx
import pytest

from domain.access import Role
from domain.bulk_orders import BulkItemState, BulkState
from domain.catalog import Team
from domain.claim_state import ClaimState
from domain.errors import Trouble
from domain.payer_status import PayerLimits, PayerState
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.console_scene import CARD, NORTH, SOUTH, ConsoleScene
from tests.support.console_stage import ConsoleStage, csrf_in
from tests.support.review_process import review_stage
from workers.payers.limits import LimitsByPayer

PACED = LimitsByPayer({NORTH: PayerLimits(per_minute=30, grace=timedelta())})
GROUP = f"reason=PERMANENT_ERROR&payer={NORTH}"
HIDDEN = re.compile(r'name="(csrf|selection|mark|number)" value="([^"]*)"')


async def suspended(store: Store, number: int, payer: str = NORTH) -> list[str]:
    scene = ConsoleScene(store, NOW)
    scene.begin_at(50_000 if payer == NORTH else 60_000)
    return [
        await scene.in_review(payer, CARD, Team.REGISTRATION, hours=number - n, due=40) for n in range(number)
    ]


async def seen(browser: httpx.AsyncClient, action: str = "resend", group: str = GROUP) -> dict[str, str]:
    """The form of a preview, as its page holds it."""
    page = await browser.get(f"/reviews/do/{action}?{group}")
    assert page.status_code == 200, page.text
    return {name: unescape(value) for name, value in HIDDEN.findall(page.text)}


async def order(browser: httpx.AsyncClient, action: str = "resend", **fields: str) -> httpx.Response:
    form = await seen(browser, action) | {"reason": "cards were mended"} | fields
    return await browser.post(f"/reviews/do/{action}", data=form)


async def state_of(store: Store, bulk_id: int = 1) -> tuple[BulkState, dict[BulkItemState, int]]:
    async with store.reading() as tx:
        found = await tx.bulk_orders.find(bulk_id)
        assert found
        return found.state, dict((await tx.bulk_orders.progress(bulk_id)).states)


async def test_a_preview_says_how_many_how_fast_and_until_when(store: Store) -> None:
    await suspended(store, 37)
    await suspended(store, 3, SOUTH)
    async with review_stage(store, PACED) as (stage, _), stage.logged_in(Role.BILLING) as browser:
        page = (await browser.get(f"/reviews/do/resend?{GROUP}")).text
        assert "37 serão reenviadas, 30 por minuto, fim hoje 07:41." in page
        both = (await browser.get("/reviews/do/resend?reason=PERMANENT_ERROR")).text
        assert "40 serão reenviadas, fim hoje 07:41." in both
        assert f"{SOUTH}: 3 cobranças, sem limite de ritmo" in both


async def test_all_claims_of_the_set_go_on_at_the_payers_pace_each_with_who_and_why(store: Store) -> None:
    claims = await suspended(store, 4)
    other = (await suspended(store, 1, SOUTH))[0]
    async with review_stage(store, PACED) as (stage, processes), stage.logged_in(Role.BILLING) as browser:
        answer = await order(browser)
        assert answer.headers["location"] == "/reviews/bulk/1"
        runner = stage.runner()
        for n in range(4):
            await asyncio.gather(runner.step(), processes.follow(n + 1))
            assert [claim for claim, _ in processes.told] == claims[: n + 1]  # the longest waiting first
            stage.clock.wait(seconds=2)
        await runner.step()
        page = (await browser.get("/reviews/bulk/1")).text
        assert "Terminada" in page
        assert "<strong>4</strong> seguiram adiante" in page
    assert {decision for _, decision in processes.told} == {"RESEND"}
    assert await state_of(store) == (BulkState.DONE, {BulkItemState.DONE: 4})
    for claim in claims:
        [kept] = await store.look(lambda tx, claim=claim: tx.orders.about_claim(claim))  # type: ignore[misc]
        assert (kept.action, kept.ordered_by) == ("review RESEND", "Ana Souza (ana, console)")
        assert kept.reason == "cards were mended [1]"
    untouched = await store.look(lambda tx: tx.claims.find(other))
    assert untouched
    assert untouched.state is ClaimState.IN_REVIEW
    [noted] = [e for e in await store.look(lambda tx: tx.audit.of_claim("@orders")) if "bulk" in e.data]
    assert '"action":"bulk RESEND"' in noted.data


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_a_set_that_changed_since_it_was_seen_is_asked_about_again(store: Store) -> None:
    claims = await suspended(store, 2)
    async with review_stage(store, PACED) as (stage, processes), stage.logged_in(Role.BILLING) as browser:
        form = await seen(browser) | {"reason": "cards were mended"}
        scene = ConsoleScene(store, NOW)
        scene.begin_at(70_000)
        await scene.in_review(NORTH, CARD, Team.REGISTRATION, hours=1, due=40)
        answer = await browser.post("/reviews/do/resend", data=form)
        assert answer.status_code == 409
        assert "eram 2, agora são 3. Nada foi feito." in answer.text
        assert "cards were mended" in answer.text  # nobody types it twice
        assert await store.look(lambda tx: tx.bulk_orders.newest(9)) == []
        again = {name: unescape(value) for name, value in HIDDEN.findall(answer.text)}
        placed = await browser.post("/reviews/do/resend", data=again | {"reason": "yes"})
        assert placed.status_code == 303
    assert processes.told == []
    assert len(claims) == 2


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_another_set_of_the_same_number_is_another_set(store: Store) -> None:
    claims = await suspended(store, 2)
    async with review_stage(store, PACED) as (stage, _), stage.logged_in(Role.BILLING) as browser:
        form = await seen(browser) | {"reason": "cards were mended"}
        await store.run(lambda tx: tx.claims.close(claims[0], ClaimState.CANCELLED, now=NOW, reason=None))
        scene = ConsoleScene(store, NOW)
        scene.begin_at(70_000)
        await scene.in_review(NORTH, CARD, Team.REGISTRATION, hours=1, due=40)
        assert (await browser.post("/reviews/do/resend", data=form)).status_code == 409


async def test_another_process_carries_on_where_one_died(store: Store) -> None:
    claims = await suspended(store, 3)
    async with review_stage(store) as (stage, processes), stage.logged_in(Role.BILLING) as browser:
        await order(browser)
        stage.clock.wait(seconds=1)
        # the first process takes all three, tells one, and dies before it writes down that it did
        await store.run(lambda tx: tx.bulk_orders.take(1, now=stage.clock.moment, limit=16))
        await store.run(
            lambda tx: tx.claims.put(claims[0], NORTH, ClaimState.SUBMITTING, now=NOW, reason=None)
        )
        another = stage.runner()
        assert await another.step() == 0  # they are in the first one's hands for a while
        stage.clock.wait(minutes=3)
        await asyncio.gather(another.step(), processes.follow(2))
        await another.step()
    assert sorted(claim for claim, _ in processes.told) == sorted(claims[1:])
    assert await state_of(store) == (BulkState.DONE, {BulkItemState.DONE: 3})


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_what_did_not_go_on_is_told_with_its_reason(store: Store) -> None:
    claims = await suspended(store, 4)
    async with review_stage(store) as (stage, processes), stage.logged_in(Role.BILLING) as browser:
        await order(browser)
        await store.run(lambda tx: tx.claims.close(claims[0], ClaimState.CANCELLED, now=NOW, reason=None))
        scene = ConsoleScene(store, NOW)
        await scene.lose_answer(claims[1])
        await scene.stick(claims[2])
        stage.clock.wait(minutes=1)
        runner = stage.runner()
        await asyncio.gather(runner.step(), processes.follow(1))
        await runner.step()
        page = (await browser.get("/reviews/bulk/1")).text
        history = (await browser.get("/reviews/bulk")).text
    assert [claim for claim, _ in processes.told] == claims[3:]
    for said in (
        "1: já não esperava esta decisão",
        "1: a operadora tem, ou pode ter: decidir uma por uma",
        "1: parou por falha técnica",
    ):
        assert said in page
        assert said in history
    assert "Ana Souza (ana, console)" in history
    assert "cards were mended" in history


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_what_its_payer_may_have_is_left_out_and_said_so(store: Store) -> None:
    claims = await suspended(store, 3)
    await ConsoleScene(store, NOW).lose_answer(claims[0])
    async with review_stage(store) as (stage, _), stage.logged_in(Role.BILLING) as browser:
        page = (await browser.get(f"/reviews/do/resend?{GROUP}")).text
        assert "2 serão reenviadas" in page
        assert "1 fica como está" in page


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_nothing_goes_out_in_bulk_to_a_payer_that_refuses_our_access(store: Store) -> None:
    await suspended(store, 3)
    await ConsoleScene(store, NOW).payer(NORTH, PayerState.STOPPED)
    async with review_stage(store) as (stage, _), stage.logged_in(Role.BILLING) as browser:
        page = (await browser.get(f"/reviews/do/resend?{GROUP}")).text
        assert "Não há nada a fazer" in page
        assert "3 ficam como estão" in page


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_claims_of_an_order_under_way_are_not_ordered_again(store: Store) -> None:
    await suspended(store, 3)
    async with review_stage(store, PACED) as (stage, _), stage.logged_in(Role.BILLING) as browser:
        await order(browser)
        assert "Não há nada a fazer" in (await browser.get(f"/reviews/do/resend?{GROUP}")).text


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_an_order_is_stopped_midway(store: Store) -> None:
    claims = await suspended(store, 3)
    async with review_stage(store, PACED) as (stage, processes), stage.logged_in(Role.BILLING) as browser:
        await order(browser)
        runner = stage.runner()
        await asyncio.gather(runner.step(), processes.follow(1))
        token = csrf_in(await browser.get("/reviews/bulk/1"))
        assert (
            (await browser.post("/reviews/bulk/1/stop", data={"csrf": token}))
            .headers["location"]
            .endswith("said=no_reason")
        )
        await browser.post("/reviews/bulk/1/stop", data={"csrf": token, "reason": "wrong group"})
        stage.clock.wait(minutes=5)
        assert await runner.step() == 0
        page = (await browser.get("/reviews/bulk/1")).text
        assert "Parada no meio" in page
        assert "2: a ação foi parada antes" in page
    assert [claim for claim, _ in processes.told] == claims[:1]


async def test_a_write_off_by_two_is_confirmed_by_another_person(store: Store) -> None:
    await suspended(store, 2)
    async with (
        review_stage(store, write_off_by_two=True) as (stage, processes),
        stage.logged_in(Role.BILLING_MANAGEMENT) as ana,
        stage.logged_in(Role.BILLING_MANAGEMENT, login="bia") as bia,
    ):
        answer = await order(ana, "write-off")
        runner = stage.runner()
        stage.clock.wait(minutes=1)
        assert await runner.step() == 0
        assert (await state_of(store))[0] is BulkState.PROPOSED
        token = csrf_in(await ana.get(answer.headers["location"]))
        path = "/reviews/bulk/1/confirm"
        mine = await ana.post(path, data={"csrf": token, "reason": "me again"})
        assert mine.headers["location"].endswith("said=same_person")
        assert (await state_of(store))[0] is BulkState.PROPOSED
        assert "Espera a segunda pessoa" in (await bia.get("/reviews")).text
        token = csrf_in(await bia.get("/reviews/bulk/1"))
        await bia.post(path, data={"csrf": token, "reason": "agreed"})
        await asyncio.gather(runner.step(), processes.follow(2, ClaimState.WRITTEN_OFF))
        await runner.step()
        page = (await ana.get("/reviews/bulk/1")).text
        assert "Ana Souza (bia, console)" in page
    assert await state_of(store) == (BulkState.DONE, {BulkItemState.DONE: 2})
    orders = [e.data for e in await store.look(lambda tx: tx.audit.of_claim("@orders")) if "bulk" in e.data]
    assert ["confirmed" in data for data in orders] == [False, True]


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_one_claims_write_off_waits_for_the_second_person_too(store: Store) -> None:
    [claim] = await suspended(store, 1)
    async with (
        review_stage(store, write_off_by_two=True) as (stage, processes),
        stage.logged_in(Role.BILLING_MANAGEMENT) as ana,
    ):
        token = csrf_in(await ana.get(f"/claims/{claim}"))
        answer = await ana.post(f"/claims/{claim}/write-off", data={"csrf": token, "reason": "lost"})
        assert answer.headers["location"] == "/reviews/bulk/1"
        page = (await ana.get("/reviews/bulk/1")).text
        assert "Espera a segunda pessoa" in page
        assert "/confirm" not in page
    assert processes.told == []


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("role", "offered"),
    [
        (Role.REGISTRATION, {"corrected"}),
        (Role.BILLING, {"resend", "corrected"}),
        (Role.BILLING_MANAGEMENT, {"resend", "corrected", "write-off"}),
        (Role.OPERATIONS, set()),
        (Role.ADMIN, set()),
    ],
)
async def test_only_what_a_role_may_is_offered_for_a_group(
    stage: ConsoleStage, store: Store, role: Role, offered: set[str]
) -> None:
    await suspended(store, 2)
    async with stage.logged_in(role) as browser:
        page = (await browser.get(f"/reviews/group?{GROUP}")).text
    assert set(re.findall(r'href="/reviews/do/([a-z-]+)\?', page)) == offered


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_incidents_are_for_it_to_release(stage: ConsoleStage, store: Store) -> None:
    await ConsoleScene(store, NOW).incident(NORTH)
    group = f"reason=INCIDENT&payer={NORTH}"
    async with stage.logged_in(Role.OPERATIONS) as browser:
        page = (await browser.get(f"/reviews/group?{group}")).text
        assert "/reviews/do/resolve" in page
        assert "1 será liberada" in (await browser.get(f"/reviews/do/resolve?{group}")).text
        assert (await browser.get(f"/reviews/do/resolve?{GROUP}")).status_code == 404
        token = csrf_in(await browser.get("/account"))
        for reason in ("", "some words"):
            form = {"csrf": token, "selection": GROUP, "mark": "x", "reason": reason}
            assert (await browser.post("/reviews/do/resolve", data=form)).status_code == 404


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("bulk", ["0", "1", "999999999999999999999", "x", "-1", "1'--"])
async def test_an_order_that_nobody_gave_is_a_page_that_says_so(stage: ConsoleStage, bulk: str) -> None:
    async with stage.logged_in(Role.BILLING_MANAGEMENT) as browser:
        assert (await browser.get(f"/reviews/bulk/{bulk}")).status_code == 404
        token = csrf_in(await browser.get("/account"))
        answer = await browser.post(f"/reviews/bulk/{bulk}/stop", data={"csrf": token, "reason": "x"})
        assert answer.status_code == 404


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_an_engine_that_is_away_costs_no_claim_its_turn(store: Store) -> None:
    await suspended(store, 2)
    async with review_stage(store) as (stage, processes), stage.logged_in(Role.BILLING) as browser:
        await order(browser)
        stage.clock.wait(seconds=1)
        processes.broker.is_open = False
        with pytest.raises(Trouble):
            await stage.runner().step(1)
        assert (await state_of(store))[1] == {BulkItemState.PENDING: 2}
        processes.broker.is_open = True
        runner = stage.runner()
        await asyncio.gather(runner.step(), processes.follow(2))
    assert (await state_of(store))[1] == {BulkItemState.DONE: 2}
