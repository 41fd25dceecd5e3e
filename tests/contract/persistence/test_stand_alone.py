"""Decisions for processes of others, whose claims we do not send: found by every query of RN-BIL-005 12.5."""

from datetime import timedelta

from domain.claim_state import ClaimState
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, REFUSAL, draft, later

SECOND = timedelta(seconds=1)


async def pending(store: Store, at_minute: float = 0, **limit: int) -> list[tuple[str, int, int]]:
    async with store.reading() as tx:
        found = await tx.decisions.pending(later(minutes=at_minute), **limit)
    return [(one.claim_id, one.retry_count, one.process_instance_key) for one in found]


async def test_bil_005_12_5_a_decision_without_a_claim_of_ours_is_found_and_counted(store: Store) -> None:
    for count in range(3):
        await store.record(draft(count=count, now=later(minutes=count)))
    async with store.reading() as tx:
        assert [one.attempt_number for one in await tx.decisions.of_claims([CLAIM])] == [1, 2, 3]
        assert await tx.decisions.count(CLAIM) == 3
    assert await pending(store, 3) == [(CLAIM, 2, 1)]


async def test_bil_005_12_5_it_is_pending_until_its_time_has_come(store: Store) -> None:
    given = draft()
    await store.record(given)
    assert given.retry
    async with store.reading() as tx:
        assert len(await tx.decisions.pending(given.retry.next_retry_time - SECOND)) == 1
        assert await tx.decisions.pending(given.retry.next_retry_time) == []


async def test_bil_005_12_5_a_claim_given_up_waits_for_nothing(store: Store) -> None:
    await store.record(draft())
    await store.record(draft(error=REFUSAL, count=1, now=later(minutes=1)))
    assert await pending(store, 1) == []


async def test_bil_005_12_5_two_processes_with_one_claim_wait_each_for_its_own(store: Store) -> None:
    for instance in (1, 2):
        await store.record(draft(process_instance_key=instance, now=later(minutes=instance)))
    assert await pending(store) == [(CLAIM, 0, 1), (CLAIM, 0, 2)]


async def test_bil_005_12_5_claims_of_ours_and_of_others_stand_in_one_order(store: Store) -> None:
    for minute, claim in enumerate(("CLM-OURS-1", "CLM-THEIRS-1", "CLM-OURS-2", "CLM-THEIRS-2")):
        if "OURS" in claim:
            async with store.transaction() as tx:
                await tx.claims.put(claim, "p", ClaimState.FAILED, now=NOW)
        await store.record(draft(claim, now=later(minutes=2 * minute)))
    order = ["CLM-OURS-1", "CLM-THEIRS-1", "CLM-OURS-2", "CLM-THEIRS-2"]
    assert [claim for claim, *_ in await pending(store)] == order
    assert [claim for claim, *_ in await pending(store, limit=3)] == order[:3]


async def test_a_claim_of_ours_that_does_not_wait_is_not_taken_for_one_of_others(store: Store) -> None:
    await store.run(lambda tx: tx.claims.put(CLAIM, "p", ClaimState.FAILED, now=NOW))
    await store.record(draft())
    await store.run(lambda tx: tx.claims.put(CLAIM, "p", ClaimState.SUBMITTING, now=NOW))
    assert await pending(store) == []
