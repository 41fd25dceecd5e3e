"""Not decisions alone are sealed: sends, acceptances and what people order are in the trail too."""

import json

from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from persistence.audit.notes import NOTED
from persistence.repositories.legal_holds import LegalHold
from persistence.repositories.noting import payer_chain
from persistence.store import Store
from tests.support.audit_attacker import Attacker
from tests.support.builders import NOW, later
from tests.support.payer_stage import PAYER, Scene
from workers.runtime import Complete


async def deeds(store: Store, chain: str) -> list[tuple[str, str]]:
    async with store.reading() as tx:
        events = await tx.audit.of_claim(chain)
        assert [problem async for problem in tx.verification.problems(later(days=1))] == []
    assert {event.event for event in events} == {NOTED}
    told = [json.loads(event.data) for event in events]
    return [(one.pop("event"), " ".join(map(str, one.values()))) for one in told]


async def test_a_send_and_its_acceptance_are_sealed(store: Store) -> None:
    scene = Scene(store)
    assert isinstance(await scene.submit(1), Complete)
    (sending, number), (accepted, protocol) = await deeds(store, "CLM-D-1")
    assert (sending, accepted) == ("sending", "accepted")
    assert "1" in number
    assert "P-1" in protocol


async def test_an_acceptance_that_was_rewritten_is_found(store: Store, database: AsyncEngine) -> None:
    await Scene(store).submit(1)
    await Attacker(database).sql("UPDATE audit_events SET data = replace(data, 'P-1', 'P-2')")
    async with store.reading() as tx:
        found = [problem async for problem in tx.verification.problems(later(days=1))]
    assert [problem.what for problem in found] == ["it was changed"]


async def test_what_people_order_for_a_payer_is_sealed(store: Store) -> None:
    scene = Scene(store)
    await scene.submit(1)
    await scene.orders.pause(PAYER, NOW, reason="paciente: Maria Aparecida", until=later(hours=4))
    await scene.orders.resume(PAYER, later(hours=1))
    first, second = await deeds(store, payer_chain(PAYER))
    assert first[0] == second[0] == "changed"
    assert "PAUSED" in first[1]
    assert "Maria" not in first[1]


async def test_a_legal_hold_and_its_end_are_sealed(store: Store) -> None:
    await store.run(lambda tx: tx.claims.put("CLM-1-1", PAYER, ClaimState.FAILED, now=NOW))
    await store.run(lambda tx: tx.holds.place(LegalHold("CLM-1-1", "case 7", NOW)))
    assert await store.run(lambda tx: tx.holds.release("CLM-1-1", now=later(hours=1)))
    assert [event for event, _ in await deeds(store, "CLM-1-1")] == ["held", "released"]


async def test_a_line_of_the_journal_is_sealed_with_it(store: Store) -> None:
    await store.run(lambda tx: tx.journal.write("CLM-1-1", "review_opened", "why", now=NOW))
    await store.run(lambda tx: tx.journal.write("CLM-1-1", "written_off", "late", now=later(hours=-1)))
    assert await deeds(store, "CLM-1-1") == [("review_opened", "why"), ("written_off", "late")]
    async with store.reading() as tx:
        first, second = await tx.audit.of_claim("CLM-1-1")
    assert first.at <= second.at  # whatever a late writer's clock said
