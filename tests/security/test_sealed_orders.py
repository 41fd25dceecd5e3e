"""Who ordered what, and why, is sealed: an order cannot be put down to another, made up or taken away."""

import json

import pytest

from domain.errors import Trouble
from domain.operators import attribution
from persistence.database.trouble import DatabaseError
from persistence.repositories.noting import payer_chain
from persistence.store import Store
from tests.support.audit_attacker import Attacker
from tests.support.audit_trail import attacker, problems, whats
from tests.support.builders import NOW, later
from tests.support.payer_stage import PAYER, Scene
from tests.support.terminal import Terminal, terminal
from workers.claims.ordering import Subject, ordered
from workers.cli.output import NotWritten

__all__ = ["attacker", "terminal"]
GIVEN = attribution("ana on desk-1", "the file is theirs")
SUBJECTS = {
    "a claim": Subject("CLM-D-1"),
    "a payer": Subject(payer_id=PAYER),
    "retention": Subject(),
}
SOON = later(hours=1)


@pytest.fixture(params=SUBJECTS)
async def kept(store: Store, request: pytest.FixtureRequest) -> Store:
    """A store with an order about something."""
    await Scene(store).submit(1)
    async with ordered(store, "some order", SUBJECTS[request.param], GIVEN, NOW):
        pass
    assert await problems(store, SOON) == []
    return store


@pytest.mark.parametrize(
    "change",
    [
        "ordered_by = 'mallory'",
        "reason = 'none'",
        "action = 'other'",
        "claim_id = 'CLM-9-9'",
        "payer_id = 'x'",
    ],
)
async def test_an_order_that_was_changed_is_found(kept: Store, attacker: Attacker, change: str) -> None:
    await attacker.sql(f"UPDATE operator_orders SET {change}")  # noqa: S608
    assert "order 1: it was changed: some order by ana on desk-1 was sealed" in whats(
        await problems(kept, SOON)
    )


async def test_an_order_that_was_removed_is_found(kept: Store, attacker: Attacker) -> None:
    await attacker.sql("DELETE FROM operator_orders")
    assert "order 1: it was removed" in whats(await problems(kept, SOON))


async def test_an_order_that_was_marked_as_refused_is_found(kept: Store, attacker: Attacker) -> None:
    await attacker.sql("UPDATE operator_orders SET refused_at = at")
    assert "order 1: whether it was refused was changed" in whats(await problems(kept, SOON))


async def test_an_order_that_nobody_gave_is_found(store: Store, attacker: Attacker) -> None:
    await attacker.sql(
        "INSERT INTO operator_orders (order_id, at, action, ordered_by, reason, claim_id, payer_id) "
        "VALUES (7, '2026-01-12 10:00:00+00:00', 'cancel', 'ana', 'why', 'CLM-1-1', '')"
    )
    assert "order 7: no event of CLM-1-1 tells of it" in whats(await problems(store, SOON))


async def test_an_order_that_was_refused_says_so_sealed(store: Store, attacker: Attacker) -> None:
    with pytest.raises(Trouble):
        async with ordered(store, "pause", Subject(payer_id=PAYER), GIVEN, NOW):
            raise Trouble("no")
    assert await problems(store, SOON) == []
    await attacker.sql("UPDATE operator_orders SET refused_at = NULL")
    assert "whether it was refused was changed" in whats(await problems(store, SOON))


async def test_a_payers_chain_tells_who_and_why(store: Store) -> None:
    scene = Scene(store)
    await scene.submit(1)
    async with ordered(store, "resume", Subject(payer_id=PAYER), GIVEN, NOW):
        await scene.orders.resume(PAYER, NOW)
    async with store.reading() as tx:
        first, second = [json.loads(event.data) for event in await tx.audit.of_claim(payer_chain(PAYER))]
    assert first == {
        "event": "ordered",
        "order": 1,
        "action": "resume",
        "by": "ana on desk-1",
        "reason": "the file is theirs",
    }
    assert second["event"] == "changed"


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_audit_show_names_who_and_why(store: Store, terminal: Terminal) -> None:
    async with ordered(store, "pause", Subject(payer_id=PAYER), GIVEN, NOW):
        pass
    _, said, _ = await terminal.run("audit", "show", "--payer", PAYER)
    assert "by=ana on desk-1" in said
    assert "reason=the file is theirs" in said


@pytest.mark.parametrize("trouble", [NotWritten("no room"), DatabaseError("away")], ids=["out", "database"])
async def test_nothing_is_said_on_record_of_an_order_whose_end_nobody_knows(
    store: Store, trouble: Exception
) -> None:
    """It may have been carried out: only what could be told of it is lost."""
    with pytest.raises(type(trouble)):
        async with ordered(store, "some order", Subject("CLM-D-1"), GIVEN, NOW):
            raise trouble
    [order] = await store.look(lambda tx: tx.orders.newest(9))
    assert order.refused_at is None
    story = await store.look(lambda tx: tx.journal.of_claim("CLM-D-1"))
    assert [entry.event for entry in story] == ["ordered"]
