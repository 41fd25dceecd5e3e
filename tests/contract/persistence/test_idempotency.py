"""RN-IdempotencyRecord, state by state, on both databases."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection, inspect
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.repositories.idempotency import (
    KEY_LIMIT,
    Beginning,
    Cached,
    IdempotencyRecord,
    InProgress,
    OperationKey,
    OperationStatus,
    OperationTerms,
    RetriesExhausted,
    StartedOperation,
)
from persistence.store import Store
from tests.support.builders import NOW, later

TERMS = OperationTerms(lease=timedelta(minutes=4))


def key(instance: str = "225179981368", **inputs: object) -> OperationKey:
    return OperationKey(instance, "Task_SubmitClaim", "submit_claim", inputs or {"claimId": "CLM-1-1"})


async def begin(store: Store, asked: OperationKey | None = None, now: datetime = NOW) -> Beginning:
    return await store.run(lambda tx: tx.idempotency.begin(asked or key(), TERMS, now=now))


async def started(store: Store, now: datetime = NOW) -> StartedOperation:
    begun = await begin(store, now=now)
    assert isinstance(begun, StartedOperation)
    return begun


async def found(store: Store, asked: OperationKey | None = None) -> IdempotencyRecord | None:
    async with store.reading() as tx:
        return await tx.idempotency.find_by_key((asked or key()).text)


async def test_the_first_one_starts_and_leaves_a_pending_record(store: Store) -> None:
    await started(store)
    record = await found(store)
    assert record is not None
    assert (record.status, record.retry_count) == (OperationStatus.PENDING, 0)
    assert record.expires_at == NOW + timedelta(hours=24)
    assert (record.activity_id, record.operation_name) == ("Task_SubmitClaim", "submit_claim")


async def test_an_operation_in_progress_is_refused(store: Store) -> None:
    await started(store)
    assert await begin(store, now=later(minutes=3)) == InProgress(later(minutes=4))


async def test_a_success_is_answered_from_the_record(store: Store) -> None:
    begun = await started(store)
    assert await store.run(lambda tx: tx.idempotency.mark_success(begun, "sealed", now=NOW))
    assert await begin(store, now=later(hours=23)) == Cached("sealed")


async def test_a_failure_may_start_again_three_times(store: Store) -> None:
    begun = await started(store)
    for retry in (1, 2, 3):
        await store.run(lambda tx, b=begun: tx.idempotency.mark_failed(b, "OSError", now=NOW))  # type: ignore[misc]
        begun = await started(store)
        assert begun.retry_count == retry
    await store.run(lambda tx: tx.idempotency.mark_failed(begun, "OSError", now=NOW))
    assert await begin(store) == RetriesExhausted(3, "OSError")


async def test_what_a_dead_worker_left_pending_starts_again_when_its_lease_is_over(store: Store) -> None:
    await started(store)
    recovered = await started(store, now=later(minutes=5))
    assert recovered.retry_count == 1


async def test_a_worker_that_lost_its_lease_settles_nothing(store: Store) -> None:
    late = await started(store)
    await started(store, now=later(minutes=5))
    assert not await store.run(lambda tx: tx.idempotency.mark_success(late, "late", now=later(minutes=6)))
    assert not await store.run(lambda tx: tx.idempotency.mark_failed(late, "late", now=later(minutes=6)))
    record = await found(store)
    assert record is not None
    assert record.status is OperationStatus.PENDING


async def test_an_expired_record_counts_for_nothing(store: Store) -> None:
    begun = await started(store)
    await store.run(lambda tx: tx.idempotency.mark_success(begun, "sealed", now=NOW))
    again = await started(store, now=later(hours=25))
    assert again.retry_count == 0


async def test_what_was_not_done_leaves_no_record(store: Store) -> None:
    begun = await started(store)
    await store.run(lambda tx: tx.idempotency.forget(begun))
    assert await found(store) is None


async def test_a_start_that_was_taken_back_is_not_counted(store: Store) -> None:
    begun = await started(store)
    await store.run(lambda tx: tx.idempotency.take_back(begun))
    assert await found(store) is None
    failed = await started(store)
    await store.run(lambda tx: tx.idempotency.mark_failed(failed, "OSError", now=NOW))
    for _ in range(4):
        again = await started(store)
        assert again.retry_count == 1
        await store.run(lambda tx, b=again: tx.idempotency.take_back(b))  # type: ignore[misc]
    record = await found(store)
    assert record is not None
    assert (record.status, record.error_message) == (OperationStatus.FAILED, "OSError")


async def test_failed_operations_of_an_instance_can_be_unlocked(store: Store) -> None:
    begun = await started(store)
    await store.run(lambda tx: tx.idempotency.mark_failed(begun, "OSError", now=NOW))
    await begin(store, key("2"))
    assert await store.run(lambda tx: tx.idempotency.forget_failed("225179981368", now=NOW)) == 1
    assert await store.run(lambda tx: tx.idempotency.forget_failed("2", now=NOW)) == 0
    assert await store.run(lambda tx: tx.idempotency.forget_failed("2", now=later(hours=1))) == 1


async def test_clean_up_removes_the_expired_in_bounded_batches_and_leaves_the_rest(store: Store) -> None:
    for n in range(7):
        begun = await begin(store, key(claimId=f"CLM-1-{n}"))
        assert isinstance(begun, StartedOperation)
        await store.run(lambda tx, b=begun: tx.idempotency.mark_success(b, "x", now=NOW))  # type: ignore[misc]
    await begin(store, key(claimId="CLM-2-1"), now=later(hours=24))
    removed = [
        await store.run(lambda tx: tx.idempotency.delete_expired(later(hours=25), 3)) for _ in range(4)
    ]
    assert removed == [3, 3, 1, 0]
    assert await found(store, key(claimId="CLM-2-1")) is not None


async def test_clean_up_leaves_what_still_runs(store: Store) -> None:
    terms = OperationTerms(lease=timedelta(hours=48))
    await store.run(lambda tx: tx.idempotency.begin(key(), terms, now=NOW))
    assert await store.run(lambda tx: tx.idempotency.delete_expired(later(hours=25), 10)) == 0


async def test_the_queries_of_the_rule(store: Store) -> None:
    await begin(store, key("1"))
    await begin(store, key("2"), now=later(hours=1))
    async with store.reading() as tx:
        records = tx.idempotency
        assert [r.process_instance_id for r in await records.find_by_process_instance("2")] == ["2"]
        hanging = await records.find_by_status_created_before(OperationStatus.PENDING, later(minutes=30))
        assert [r.process_instance_id for r in hanging] == ["1"]
        assert await records.find_by_status_created_before(OperationStatus.FAILED, later(days=1)) == []


async def test_the_table_has_the_rules_four_indexes(database: AsyncEngine) -> None:
    def indexes(connection: Connection) -> dict[str | None, bool]:
        found = inspect(connection).get_indexes("idempotency_records")
        return {index["name"]: bool(index["unique"]) for index in found}

    async with database.connect() as connection:
        assert await connection.run_sync(indexes) == {
            "idx_idempotency_key": True,
            "idx_process_instance": False,
            "idx_created_at": False,
            "idx_expires_at": False,
        }


def test_the_key_tells_instances_activities_operations_and_inputs_apart() -> None:
    keys = {
        key().text,
        key("2").text,
        key(claimId="CLM-1-2").text,
        OperationKey("225179981368", "Task_Other", "submit_claim", {"claimId": "CLM-1-1"}).text,
        OperationKey("225179981368", "Task_SubmitClaim", "other", {"claimId": "CLM-1-1"}).text,
    }
    assert len(keys) == 5


def test_the_order_of_inputs_does_not_matter() -> None:
    assert key(a=1, b=[1, 2]).text == key(b=[1, 2], a=1).text


@pytest.mark.parametrize("length", [10, 200, 256])
def test_the_key_always_fits_its_column(length: int) -> None:
    asked = OperationKey("2251799813685248", "T" * length, "submit_claim", {"claimId": "x" * 5_000})
    assert len(asked.text) <= KEY_LIMIT
