"""Only what may follow is written: a late or repeated job leaves the row as it is, and a warning says so."""

import asyncio

import pytest
from sqlalchemy import Connection, event, insert
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from domain.claim_state import ENDS, ClaimState
from persistence.repositories.claims import ClaimRow, DecidedState, Move
from persistence.store import Store
from persistence.tables import claims
from tests.support.builders import CLAIM, NOW, draft, later

EVERY_PAIR = [(earlier, other) for earlier in ClaimState for other in ClaimState]
DECIDED: tuple[DecidedState, ...] = (ClaimState.WAITING, ClaimState.FAILED)
BEFORE = "how it was"
OURS = 1


def named(earlier: ClaimState, other: ClaimState) -> str:
    return f"CLM-{earlier}-{other}"


async def stands(database: AsyncEngine, state: ClaimState, *names: str) -> None:
    """Claims in a state, however they came there."""
    rows = [
        {
            "claim_id": name,
            "payer_id": "p",
            "state": state,
            "process_instance_key": OURS,
            "reason": BEFORE,
            "created_at": NOW,
            "updated_at": NOW,
        }
        for name in names or (CLAIM,)
    ]
    async with database.begin() as connection:
        await connection.execute(insert(claims), rows)


async def row(store: Store, claim: str = CLAIM) -> ClaimRow:
    found = await store.look(lambda tx: tx.claims.find(claim))
    assert found
    return found


async def test_a_claim_moves_exactly_as_the_table_says(store: Store, database: AsyncEngine) -> None:
    for earlier in ClaimState:
        await stands(database, earlier, *(named(earlier, other) for other in ClaimState))
    async with store.transaction() as tx:
        moved = {
            (earlier, other)
            for earlier, other in EVERY_PAIR
            if await tx.claims.move(named(earlier, other), other, now=later(hours=1), reason="moved")
        }
    assert moved == {(earlier, other) for earlier, other in EVERY_PAIR if earlier.may_become(other)}
    for earlier, other in EVERY_PAIR:
        claim = await row(store, named(earlier, other))
        expected = (other, "moved", later(hours=1)) if (earlier, other) in moved else (earlier, BEFORE, NOW)
        assert (claim.state, claim.reason, claim.updated_at) == expected


async def test_several_claims_move_exactly_as_the_table_says(store: Store, database: AsyncEngine) -> None:
    pairs = [(earlier, other) for earlier in ClaimState for other in DECIDED]
    for earlier in ClaimState:
        await stands(database, earlier, *(named(earlier, other) for other in DECIDED))
    moves = [Move(named(earlier, other), OURS, other, 1, None, "decided", NOW) for earlier, other in pairs]
    unknown = Move(CLAIM, OURS, DECIDED[0], 1, None, "unknown", NOW)
    await store.run(lambda tx: tx.claims.move_all([*moves, unknown]))
    for earlier, other in pairs:
        claim = await row(store, named(earlier, other))
        expected = (other, "decided", 1) if earlier.may_become(other) else (earlier, BEFORE, 0)
        assert (claim.state, claim.reason, claim.retry_count) == expected
    assert await store.look(lambda tx: tx.claims.find(CLAIM)) is None


@pytest.mark.parametrize("number", [1, 3])
async def test_however_many_move_it_is_one_statement(
    store: Store, database: AsyncEngine, number: int
) -> None:
    await stands(database, ClaimState.FAILED, "CLM-1-0", "CLM-1-1")
    statements: list[str] = []

    def note(_connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    moves = [Move(f"CLM-1-{n}", OURS, ClaimState.WAITING, 1, None, "", NOW) for n in range(number)]
    async with store.transaction() as tx:
        event.listen(database.sync_engine, "before_cursor_execute", note)
        await tx.claims.move_all(moves)
        event.remove(database.sync_engine, "before_cursor_execute", note)
    assert [statement.split()[:2] for statement in statements] == [["UPDATE", "claims"]]


async def test_a_state_that_is_kept_is_logged_with_the_one_that_was_not_written(
    store: Store, database: AsyncEngine
) -> None:
    await stands(database, ClaimState.CANCELLED)
    with capture_logs() as logs:
        assert not await store.run(
            lambda tx: tx.claims.move(CLAIM, ClaimState.FAILED, now=NOW, reason="late")
        )
    assert logs == [
        {
            "event": "claim_state_kept",
            "log_level": "warning",
            "claim": CLAIM,
            "from": "CANCELLED",
            "to": "FAILED",
        }
    ]


@pytest.mark.parametrize("end", sorted(ENDS))
async def test_the_same_end_again_changes_nothing_and_is_no_warning(
    store: Store, database: AsyncEngine, end: ClaimState
) -> None:
    await stands(database, end)
    with capture_logs() as logs:
        assert not await store.run(lambda tx: tx.claims.close(CLAIM, end, now=later(hours=1), reason="again"))
        assert not await store.run(lambda tx: tx.claims.close("CLM-9-9", end, now=NOW))
    assert logs == []
    assert ((await row(store)).reason, (await row(store)).updated_at) == (BEFORE, NOW)


@pytest.mark.parametrize("state", list(ClaimState))
async def test_a_send_that_begins_takes_every_claim_up_that_has_not_ended(
    store: Store, database: AsyncEngine, state: ClaimState
) -> None:
    await stands(database, state)
    begun = await store.run(lambda tx: tx.claims.put(CLAIM, "p", ClaimState.SUBMITTING, now=NOW))
    assert begun is (state not in ENDS)
    assert (await row(store)).state is (state if state in ENDS else ClaimState.SUBMITTING)


@pytest.mark.parametrize("state", list(ClaimState))
async def test_a_decision_moves_only_the_claim_of_its_own_process(
    store: Store, database: AsyncEngine, state: ClaimState
) -> None:
    await stands(database, state)
    theirs = Move(CLAIM, 777, ClaimState.WAITING, 1, None, "decided", NOW)
    await store.run(lambda tx: tx.claims.move_all([theirs]))
    assert ((await row(store)).state, (await row(store)).reason) == (state, BEFORE)


async def test_of_two_that_end_a_claim_at_once_one_does(store: Store, database: AsyncEngine) -> None:
    await stands(database, ClaimState.IN_REVIEW)

    async def close(end: ClaimState) -> bool:
        return await store.run(lambda tx: tx.claims.close(CLAIM, end, now=NOW, reason=end))

    by_people = [ClaimState.CANCELLED, ClaimState.WRITTEN_OFF]  # an acceptance may follow both
    done = await asyncio.gather(*(close(end) for end in by_people))
    assert sorted(done) == [False, True]
    claim = await row(store)
    assert claim.reason == claim.state == by_people[done.index(True)]


async def test_a_decision_leaves_an_end_as_it_is_and_is_kept_all_the_same(
    store: Store, database: AsyncEngine
) -> None:
    await stands(database, ClaimState.WRITTEN_OFF)
    given = draft()
    assert (await store.record(given)).result == given.result
    assert (await row(store)).state is ClaimState.WRITTEN_OFF
    async with store.reading() as tx:
        assert [entry.event for entry in await tx.journal.of_claim(CLAIM)] == ["retry_scheduled"]
        assert await tx.decisions.count(CLAIM) == 1
