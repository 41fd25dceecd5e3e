"""What people order of a claim in the console: with a reason, and recorded with who and why."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest

from domain.access import Role
from domain.claim_state import ClaimState
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.console_scene import NORTH, ConsoleScene
from tests.support.console_stage import console_stage, csrf_in
from tests.support.faults.messages import MessageBroker, message_broker
from tests.support.waiting import eventually

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
WHO = "Ana Souza (ana, console)"


@dataclass(frozen=True, slots=True)
class Desk:
    """A browser of a billing manager, a waiting claim, and the engine that hears of it."""

    browser: httpx.AsyncClient
    broker: MessageBroker
    store: Store
    claim: str

    async def order(self, what: str, **fields: str) -> httpx.Response:
        token = csrf_in(await self.browser.get(f"/claims/{self.claim}"))
        return await self.browser.post(f"/claims/{self.claim}/{what}", data={"csrf": token, **fields})

    async def once_told(self, state: ClaimState) -> None:
        """Play the claim's process: what it was told comes about."""

        async def is_told() -> bool:
            return bool(self.broker.taken)

        await eventually(is_told)
        await self.store.run(lambda tx: tx.claims.close(self.claim, state, now=later(minutes=1), reason=None))

    async def orders(self) -> list[tuple[str, str, str]]:
        kept = await self.store.look(lambda tx: tx.orders.about_claim(self.claim))
        return [(order.action, order.ordered_by, order.reason) for order in kept]


@pytest.fixture
async def desk(store: Store) -> AsyncIterator[Desk]:
    claim = await ConsoleScene(store, NOW).waiting(NORTH, minutes=30, count=1)
    async with message_broker() as broker, open_channel(Plaintext(broker.address)) as channel:
        stage = console_stage(store, ZeebeCommands(channel))
        async with stage.logged_in(Role.BILLING_MANAGEMENT) as browser:
            yield Desk(browser, broker, store, claim)


async def test_a_claim_is_cancelled_with_who_and_why(desk: Desk) -> None:
    answer, _ = await asyncio.gather(
        desk.order("cancel", reason="paid twice"), desk.once_told(ClaimState.CANCELLED)
    )
    assert answer.headers["location"] == f"/claims/{desk.claim}?said=cancelled"
    assert await desk.orders() == [("cancel", WHO, "paid twice")]
    page = await desk.browser.get(answer.headers["location"])
    for said in ("A cobrança foi cancelada.", "Cancelamento pedido", WHO, "paid twice"):
        assert said in page.text
    assert "/cancel" not in page.text  # nothing is left to ask for
    events = await desk.store.look(lambda tx: tx.audit.of_claim(desk.claim))
    assert any('"action":"cancel"' in event.data for event in events)


async def test_a_claim_is_woken_with_who_and_why(desk: Desk) -> None:
    answer, _ = await asyncio.gather(
        desk.order("retry-now", reason="the payer called"), desk.once_told(ClaimState.ACCEPTED)
    )
    assert answer.headers["location"] == f"/claims/{desk.claim}?said=woken"
    assert await desk.orders() == [("retry-now", WHO, "the payer called")]
    assert [message.name for message in desk.broker.taken] == ["retry-now"]


@pytest.mark.parametrize("reason", ["", "   ", "\t"])
@pytest.mark.parametrize("what", ["cancel", "retry-now"])
async def test_without_a_reason_nothing_is_done(desk: Desk, what: str, reason: str) -> None:
    answer = await desk.order(what, reason=reason)
    assert answer.headers["location"].endswith("?said=no_reason")
    assert (await desk.orders(), desk.broker.taken) == ([], [])


async def test_a_claim_that_has_ended_is_not_touched(desk: Desk) -> None:
    await desk.store.run(
        lambda tx: tx.claims.close(desk.claim, ClaimState.WRITTEN_OFF, now=later(minutes=1), reason=None)
    )
    for what in ("cancel", "retry-now"):
        page = await desk.browser.get("/account")
        token = csrf_in(page)
        answer = await desk.browser.post(
            f"/claims/{desk.claim}/{what}", data={"csrf": token, "reason": "really"}
        )
        assert answer.headers["location"].endswith("?said=refused")
    assert desk.broker.taken == []


async def test_who_may_not_cancel_sees_no_way_to(store: Store) -> None:
    claim = await ConsoleScene(store, NOW).waiting(NORTH, minutes=30, count=1)
    async with console_stage(store).logged_in(Role.BILLING) as browser:
        page = (await browser.get(f"/claims/{claim}")).text
        assert "/retry-now" in page
        assert "/cancel" not in page


@pytest.mark.parametrize("claim", ["CLM-9-9", "nonsense", "' OR 1=1 --"])
async def test_an_order_about_nothing_is_refused(desk: Desk, claim: str) -> None:
    token = csrf_in(await desk.browser.get("/account"))
    answer = await desk.browser.post(f"/claims/{claim}/cancel", data={"csrf": token, "reason": "why"})
    assert answer.headers["location"].endswith("said=refused")
    assert desk.broker.taken == []
