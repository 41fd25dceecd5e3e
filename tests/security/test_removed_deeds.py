"""Sends and ends removed from the trail on the same day are missed by the tables that still tell of them."""

import pytest

from domain.claim_state import ClaimState
from persistence.store import Store
from tests.support.audit_attacker import Attacker
from tests.support.audit_trail import attacker, problems, whats
from tests.support.builders import NOW, later
from tests.support.payer_stage import PAYER, Scene

__all__ = ["attacker"]
FIRST, SECOND = "CLM-D-1", "CLM-D-2"
SOON = later(hours=1)


@pytest.fixture
async def sent(store: Store) -> Store:
    """Two claims that were sent and accepted today."""
    scene = Scene(store)
    await scene.submit(1)
    await scene.submit(2)
    assert await problems(store, SOON) == []
    return store


def removed(claim_id: str, where: str = "") -> str:
    return f"DELETE FROM audit_events WHERE claim_id = '{claim_id}'{where}"  # noqa: S608


async def test_a_whole_chain_that_was_removed_is_missed(sent: Store, attacker: Attacker) -> None:
    await attacker.sql(removed(SECOND))
    found = whats(await problems(sent, SOON))
    assert f"{SECOND}: 1 of 'sending' are told of elsewhere" in found
    assert f"{SECOND}: 1 of 'accepted' are told of elsewhere" in found
    assert FIRST not in found


async def test_an_acceptance_cut_off_the_end_is_missed(sent: Store, attacker: Attacker) -> None:
    await attacker.sql(removed(SECOND, " AND sequence = 2"))
    assert "1 of 'accepted'" in whats(await problems(sent, SOON))


async def test_a_send_is_missed_by_its_attempt_alone(sent: Store, attacker: Attacker) -> None:
    await attacker.sql(removed(SECOND), "DELETE FROM claim_events", "DELETE FROM claims")
    assert f"{SECOND}: 1 of 'sending'" in whats(await problems(sent, SOON))


async def test_an_acceptance_is_missed_by_its_claim_alone(sent: Store, attacker: Attacker) -> None:
    await attacker.sql(removed(SECOND), "DELETE FROM claim_events", "DELETE FROM submission_attempts")
    assert f"{SECOND}: 1 of 'accepted'" in whats(await problems(sent, SOON))


async def test_other_notes_do_not_make_up_for_a_removed_one(sent: Store, attacker: Attacker) -> None:
    await attacker.sql(removed(SECOND, " AND sequence = 2"))
    await sent.run(lambda tx: tx.notes.add(SECOND, "held", {"reason": '"event":"accepted"'}, now=NOW))
    assert "1 of 'accepted'" in whats(await problems(sent, SOON))


async def test_what_earlier_versions_did_without_notes_is_not_missed(
    store: Store, attacker: Attacker
) -> None:
    await store.run(lambda tx: tx.claims.put("CLM-1-1", PAYER, ClaimState.SUBMITTING, now=NOW))
    await attacker.sql("DELETE FROM audit_anchors", "UPDATE claims SET state = 'ACCEPTED'")
    await store.run(lambda tx: tx.anchors.begin_if_new(SOON, upgraded=True))
    assert await problems(store, SOON) == []
