"""Whom a claim goes to is what it was handed in for, whatever a process variable says."""

import json
from datetime import timedelta
from typing import Any

import pytest

from domain.submission import Accepted, Failed
from persistence.repositories.claims import Arrival
from persistence.store import Store
from tests.security.two_processes import CLAIM, FIRST, PAYER, SEND, Desk
from tests.support.builders import NOW, later
from workers.payers.limits import LimitsByPayer
from workers.payers.orders import Orders
from workers.payers.waking import Waker
from workers.runtime import Complete, Incident, Throw

OTHER = "111111"
HANDED_IN = Arrival(CLAIM, PAYER, later(hours=48), "c" * 64, "7")


@pytest.fixture
async def desk(store: Store) -> Desk:
    """A claim that was handed in with its file."""
    await store.run(lambda tx: tx.claims.receive_all([(HANDED_IN, NOW)]))
    return Desk(store)


@pytest.mark.parametrize("given", [OTHER, None, "", PAYER])
async def test_the_stored_payer_and_not_the_variable_picks_the_recipient(
    desk: Desk, given: str | None
) -> None:
    outcome = await desk.send(desk.job(SEND, FIRST, payerId=given), Accepted("P-1"))
    assert outcome == Complete({"protocolNumber": "P-1"})
    assert [sent.payer_id for sent, _ in desk.payer.requests] == [PAYER]
    assert (await desk.row()).payer_id == PAYER
    assert [status.payer_id for status in await desk.store.look(lambda tx: tx.payers.all())] == [PAYER]


async def test_a_claim_waits_for_its_own_payer_and_not_for_the_one_that_a_variable_names(desk: Desk) -> None:
    limits = LimitsByPayer()
    await desk.send(desk.job(SEND, FIRST), Failed("TIMEOUT - connection", "HTTP:408"))
    orders = Orders(desk.store, limits, Waker(desk.store, limits))
    await orders.pause(PAYER, NOW, reason="a test", until=NOW + timedelta(hours=1))
    outcome = await desk.do(desk.job(SEND, FIRST, payerId=OTHER, retryCount=1))
    assert isinstance(outcome, Throw)
    assert outcome.variables["resumeAt"] == "2026-01-12T11:40:00Z"


@pytest.mark.parametrize("name", ["claimId", "payerId"])
@pytest.mark.parametrize("value", [None, 5, "", "x" * 65, "Maria 529.982.247-25"])
async def test_a_send_without_its_claim_or_payer_is_rejected_in_the_trail_once(
    store: Store, name: str, value: object
) -> None:
    desk = Desk(store)
    given: dict[str, Any] = {name: value}
    job = desk.job(SEND, FIRST, **given)
    for _ in range(2):
        outcome = await desk.do(job)
        assert isinstance(outcome, Incident)
        assert (f"Variable {name}" in outcome.message, "Maria" in outcome.message) == (True, False)
    chain = CLAIM if name == "payerId" else f"@instance:{FIRST}"
    async with store.reading() as tx:
        received, rejected = await tx.audit.of_claim(chain)
    assert (received.event, rejected.event) == ("RECEIVED", "REJECTED")
    assert json.loads(rejected.data)["input"] == f"Variable {name}"
    assert desk.sends == 0
