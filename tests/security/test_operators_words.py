"""What an operator writes stays in our own records: the engine is told in our words alone."""

from dataclasses import replace

import pytest

from domain.operators import attribution
from domain.payer_status import PayerState
from persistence.repositories.operator_orders import OperatorOrder
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.payer_stage import PAYER, Scene
from workers.payers.status import overview

REASON = attribution("ana on desk-1", "Beneficiário MARIA DA SILVA sem cobertura").reason


async def held(scene: Scene, deadline: str | None = None) -> str:
    """What the process of a claim is told that comes now."""
    return str(await scene.submit(2, deadline=deadline))


@pytest.mark.parametrize("order", ["pause", "trip"])
@pytest.mark.parametrize("deadline", [None, later(hours=1).isoformat()], ids=["waits", "cannot wait"])
async def test_the_reason_of_an_order_does_not_reach_the_engine(
    store: Store, order: str, deadline: str | None
) -> None:
    scene = Scene(store)
    await scene.submit(1)
    await getattr(scene.orders, order)(PAYER, NOW, reason=REASON)
    told = await held(scene, deadline=deadline)
    assert ("MARIA" in told, "by an operator" in told) == (False, True)
    async with store.reading() as tx:
        story = str(await tx.journal.of_claim("CLM-D-2")) + str(await tx.claims.find("CLM-D-2"))
    assert "MARIA" not in story


async def test_a_pause_that_an_earlier_version_kept_with_its_words_does_not_tell_them(store: Store) -> None:
    scene = Scene(store)
    await scene.submit(1)
    status = replace(await scene.status(), state=PayerState.PAUSED, reason=REASON)
    async with store.transaction() as tx:
        await tx.payers.save(status)
    assert "MARIA" not in await held(scene)


@pytest.mark.parametrize("order", ["pause", "trip"])
async def test_people_still_read_why_a_payer_is_held(store: Store, order: str) -> None:
    scene = Scene(store)
    await scene.submit(1)
    await getattr(scene.orders, order)(PAYER, NOW, reason="month's end")
    async with store.transaction() as tx:
        await tx.orders.keep(OperatorOrder(order, "ana on desk-1", "month's end", payer_id=PAYER), now=NOW)
    [view] = await overview(store, scene.payer_limits, NOW)
    assert view.why.endswith("by an operator: month's end")
