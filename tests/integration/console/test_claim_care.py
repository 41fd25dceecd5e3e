"""A claim beside its way: its deadline changed and set back, held and released, its payer's words read."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import httpx
import pytest

from domain.access import Role
from domain.claim_state import ClaimState
from domain.outputs import iso_time
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from persistence.repositories.claims import ClaimRow
from persistence.repositories.free_texts import TextSource, sealed_text
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.console_scene import NORTH, ConsoleScene
from tests.support.console_stage import ZONE, ConsoleStage, console_stage, csrf_in
from tests.support.faults.messages import MessageBroker, message_broker

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
WHO = "Ana Souza (ana, console)"
INSTANCE = 2_251_799_813_685_249
SAID_BY_PAYER = "Beneficiária Maria Aparecida não encontrada"


@dataclass(frozen=True, slots=True)
class Desk:
    """A browser of a billing manager, a waiting claim, and the engine that hears of it."""

    stage: ConsoleStage
    browser: httpx.AsyncClient
    broker: MessageBroker
    claim: str

    async def order(self, what: str, **fields: str) -> httpx.Response:
        token = csrf_in(await self.browser.get("/account"))
        return await self.browser.post(f"/claims/{self.claim}/{what}", data={"csrf": token, **fields})

    async def undo(self, what: str, order_id: int | None = None) -> str:
        """Press undo, as the page offers it; what is said then."""
        kept = await self.stage.store.look(lambda tx: tx.orders.about_claim(self.claim))
        answer = await self.order(f"{what}/undo", order=str(order_id or kept[-1].order_id))
        return answer.headers["location"].partition("said=")[2]

    async def page(self) -> str:
        return (await self.browser.get(f"/claims/{self.claim}")).text

    async def row(self) -> ClaimRow:
        found = await self.stage.store.look(lambda tx: tx.claims.find(self.claim))
        assert found
        return found

    async def orders(self) -> list[tuple[str, str]]:
        kept = await self.stage.store.look(lambda tx: tx.orders.about_claim(self.claim))
        assert {one.ordered_by for one in kept} <= {WHO}
        return [(one.action.split(" ")[0], one.reason) for one in kept if one.refused_at is None]


@pytest.fixture
async def desk(store: Store) -> AsyncIterator[Desk]:
    claim = await ConsoleScene(store, NOW).waiting(NORTH, minutes=30, count=1)
    due = {"retry_count": 2, "next_retry_time": NOW + timedelta(minutes=30)}
    await store.run(
        lambda tx: tx.claims.move(
            claim, ClaimState.WAITING, now=NOW, process_instance_key=INSTANCE, reason=None, **due
        )
    )
    async with message_broker() as broker, open_channel(Plaintext(broker.address)) as channel:
        stage = console_stage(store, ZeebeCommands(channel))
        async with stage.logged_in(Role.BILLING_MANAGEMENT) as browser:
            yield Desk(stage, browser, broker, claim)


async def test_a_deadline_is_changed_with_who_and_why_and_the_process_is_told(desk: Desk) -> None:
    before, wished = (await desk.row()).deadline, NOW + timedelta(days=3)
    typed = wished.astimezone(ZONE).strftime("%Y-%m-%dT%H:%M")  # as a browser sends it: without an offset
    answer = await desk.order("deadline", to=typed, reason="the payer moved it")
    assert answer.headers["location"].endswith("?said=deadline")
    assert (await desk.row()).deadline == wished.replace(second=0, microsecond=0)
    [told] = desk.broker.set
    assert told.elementInstanceKey == INSTANCE
    assert json.loads(told.variables) == {"deadline": iso_time(wished.replace(second=0))}
    assert desk.broker.taken == []  # its wait ends long before: nobody is woken
    assert await desk.orders() == [("deadline", "the payer moved it")]
    page = await desk.page()
    assert "the payer moved it" in page
    assert "/deadline/undo" in page
    assert await desk.undo("deadline") == "deadline_back"
    assert before
    assert (await desk.row()).deadline == before.replace(microsecond=0)
    assert [action for action, _ in await desk.orders()] == ["deadline", "deadline"]
    assert (await desk.orders())[1][1].startswith("desfaz o pedido ")


async def test_a_wait_that_the_new_deadline_does_not_leave_time_for_is_cut(desk: Desk) -> None:
    answer = await desk.order("deadline", to="4h", reason="audit tomorrow")
    assert answer.headers["location"].endswith("?said=deadline_woken")
    assert [message.name for message in desk.broker.taken] == ["retry-now"]


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("2020-01-01T10:00", "deadline_past"),
        ("", "deadline_form"),
        ("soon", "deadline_form"),
        ("2999-01-01T10:00", "deadline_far"),
    ],
)
async def test_a_deadline_that_cannot_be_one_is_refused_by_its_rule(desk: Desk, to: str, said: str) -> None:
    answer = await desk.order("deadline", to=to, reason="why not")
    assert answer.headers["location"].endswith(f"?said={said}")
    shown = (await desk.browser.get(answer.headers["location"])).text
    assert "Novo prazo: " in shown
    assert (await desk.orders(), desk.broker.set) == ([], [])


@pytest.mark.parametrize("what", ["deadline", "hold", "release", "words"])
async def test_nothing_is_done_without_a_reason(desk: Desk, what: str) -> None:
    answer = await desk.order(what, to="48h", reason=" ")
    assert answer.headers["location"].endswith("said=no_reason")
    assert (await desk.orders(), desk.broker.set) == ([], [])


async def test_a_claim_without_a_process_keeps_its_deadline_and_says_so_on_record(desk: Desk) -> None:
    before, desk.broker.has_instances = (await desk.row()).deadline, False
    answer = await desk.order("deadline", to="72h", reason="the payer moved it")
    assert answer.headers["location"].endswith("said=refused")
    assert (await desk.row()).deadline == before
    [order] = await desk.stage.store.look(lambda tx: tx.orders.about_claim(desk.claim))
    assert order.refused_at
    assert "/deadline/undo" not in await desk.page()


async def test_a_change_is_taken_back_by_one_click_only_for_a_while(desk: Desk) -> None:
    await desk.order("deadline", to="72h", reason="the payer moved it")
    await desk.order("hold", reason="case 7")
    desk.stage.clock.wait(minutes=11)
    assert "/undo" not in await desk.page()
    orders = await desk.stage.store.look(lambda tx: tx.orders.about_claim(desk.claim))
    assert await desk.undo("deadline", orders[0].order_id) == "refused"
    assert await desk.undo("hold", orders[1].order_id) == "refused"
    assert len(desk.broker.set) == 1


async def test_undo_pressed_twice_undoes_once(desk: Desk) -> None:
    await desk.order("hold", reason="case 7")
    await desk.order("deadline", to="72h", reason="the payer moved it")
    held, changed = await desk.stage.store.look(lambda tx: tx.orders.about_claim(desk.claim))
    for what, order, done in (("hold", held, "hold_back"), ("deadline", changed, "deadline_back")):
        assert await desk.undo(what, order.order_id) == done
        assert await desk.undo(what, order.order_id) == "refused"
    assert await desk.stage.store.look(lambda tx: tx.holds.find(desk.claim)) is None
    assert len(desk.broker.set) == 2
    for order_id in ("", "x", "٣", "9" * 30):
        answer = await desk.order("hold/undo", order=order_id)
        assert answer.headers["location"].endswith("said=refused")


async def test_a_claim_is_held_released_and_both_taken_back(desk: Desk) -> None:
    async def is_held() -> bool:
        return await desk.stage.store.look(lambda tx: tx.holds.find(desk.claim)) is not None

    assert (await desk.order("hold", reason="case 7")).headers["location"].endswith("said=held")
    page = await desk.page()
    assert await is_held()
    assert "case 7" in page
    assert "Encerrar a guarda legal" in page
    assert await desk.undo("hold") == "hold_back"
    assert not await is_held()
    await desk.order("hold", reason="case 8")
    assert (
        (await desk.order("release", reason="case 8 is over")).headers["location"].endswith("said=released")
    )
    assert not await is_held()
    assert await desk.undo("hold") == "hold_back"
    held = await desk.stage.store.look(lambda tx: tx.holds.find(desk.claim))
    assert held
    assert held.reason.startswith("case 8 (desfaz o pedido ")
    assert [action for action, _ in await desk.orders()] == [*["hold", "release"] * 2, "hold"]


async def test_the_payers_words_are_shown_to_who_says_why_and_the_look_is_sealed(desk: Desk) -> None:
    cipher = desk.stage.console.reviews.intake.cipher
    text = sealed_text(cipher, desk.claim, TextSource.PAYER, SAID_BY_PAYER, now=NOW)
    await desk.stage.store.run(lambda tx: tx.free_texts.keep([text]))
    page = await desk.page()
    assert "Ler as palavras da operadora (1 texto)" in page
    assert SAID_BY_PAYER not in page
    answer = await desk.order("words", reason="to correct the name")
    assert answer.status_code == 200
    assert SAID_BY_PAYER in answer.text
    assert "Palavras da operadora lidas" in answer.text  # the look is part of the story at once
    assert await desk.orders() == [("words", "to correct the name")]
    events = await desk.stage.store.look(lambda tx: tx.audit.of_claim(desk.claim))
    assert any('"action":"words"' in event.data for event in events)
    assert SAID_BY_PAYER not in await desk.page()


async def test_words_under_a_key_that_is_not_here_are_not_shown_and_nobody_looked(desk: Desk) -> None:
    other = console_stage(desk.stage.store).console.reviews.intake.cipher
    text = sealed_text(other, desk.claim, TextSource.PAYER, SAID_BY_PAYER, now=NOW)
    await desk.stage.store.run(lambda tx: tx.free_texts.keep([text]))
    answer = await desk.order("words", reason="to correct the name")
    assert answer.headers["location"].endswith("said=sealed")
    assert await desk.orders() == []


async def test_who_only_watches_is_offered_none_of_it(desk: Desk) -> None:
    cipher = desk.stage.console.reviews.intake.cipher
    text = sealed_text(cipher, desk.claim, TextSource.PAYER, SAID_BY_PAYER, now=NOW)
    await desk.stage.store.run(lambda tx: tx.free_texts.keep([text]))
    await desk.order("hold", reason="case 7")
    async with desk.stage.logged_in(Role.VIEWER, login="vera") as browser:
        page = (await browser.get(f"/claims/{desk.claim}")).text
        assert "Guarda legal" in page
        assert not any(f'action="/claims/{desk.claim}/{one}' in page for one in ("deadline", "hold", "words"))


async def test_the_next_retry_is_drawn_with_its_window_and_told_in_words(desk: Desk) -> None:
    [*_, newest] = await desk.stage.store.look(lambda tx: tx.decisions.of_claims([desk.claim]))
    assert 'class="chart retry"' not in await desk.page()  # it waits for another moment than was decided
    await desk.stage.store.run(
        lambda tx: tx.claims.move(
            desk.claim, ClaimState.WAITING, now=NOW, next_retry_time=newest.next_retry_time
        )
    )
    page = await desk.page()
    assert 'class="chart retry"' in page
    assert "Janela do sorteio" in page
    assert 'aria-label="Decidido: ' in page


async def test_where_it_stands_is_told_in_words_and_its_model_is_served(desk: Desk) -> None:
    page = await desk.browser.get(f"/claims/{desk.claim}/process")
    assert "espera pela hora do reenvio" in page.text
    assert 'data-element="Gateway_WaitForRetry"' in page.text
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "bpmn-viewer" not in await desk.page()
    model = await desk.browser.get("/process/SUB_06.bpmn")
    assert b'id="Gateway_WaitForRetry"' in model.content
    assert (await desk.browser.get("/claims/CLM-9-9/process")).status_code == 404
