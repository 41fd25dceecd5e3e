"""An answer that the database does not take in any way: one incident, and nothing is sent again unseen."""

import asyncio

import pytest

from domain.payer_status import PayerLimits
from domain.submission import Accepted
from persistence.store import Store
from tests.support.payer_stage import PAYER, Scene
from workers.runtime import Complete, Incident

pytestmark = pytest.mark.parametrize("kind", ["postgresql"], indirect=True)  # SQLite keeps any text
UNKEEPABLE = Accepted("P-\x001")


@pytest.fixture
def scene(store: Store) -> Scene:
    return Scene(store, PayerLimits(per_minute=None, at_once=32, needs_proof=False))


async def test_an_answer_that_cannot_be_kept_is_an_incident_and_its_place_is_free(scene: Scene) -> None:
    scene.answer = UNKEEPABLE
    told = await scene.submit(1)
    assert isinstance(told, Incident)
    assert "the payer took it as P-" in told.message
    assert scene.sent == ["CLM-D-1"]
    async with scene.store.reading() as tx:
        assert await tx.payers.in_flight(PAYER, now=scene.moment) == 0
        assert (await tx.attempts.history("CLM-D-1")).answer_was_lost


async def test_others_of_the_same_moment_are_accepted(scene: Scene) -> None:
    scene.answer = UNKEEPABLE
    spoilt = asyncio.create_task(scene.submit(1))
    while not scene.sent:
        await asyncio.sleep(0)
    scene.answer = Accepted("P-2")
    others = await asyncio.gather(*(scene.submit(number) for number in range(2, 8)))
    assert isinstance(await spoilt, Incident)
    assert others == [Complete({"protocolNumber": "P-2"})] * 6
