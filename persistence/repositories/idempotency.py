"""RN-IdempotencyRecord: an operation runs once; who comes second gets its result, or waits."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Row, bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.database.canonical import fingerprint
from persistence.database.dialect import among, insert_into
from persistence.database.wrong_clock import latest_end, tell_shortened
from persistence.tables import idempotency_records as records

KEY_LIMIT = 255
TRIAL_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)
# 48 KB that do not compress: more pages of SQLite than one decision's commit (11 to 17). Measured on disks
# that were full and took no decision: a lease still went in on both databases, and so did 32 KB of one letter
# on PostgreSQL; so nothing smaller shows whether there is room again.
TRIAL_HASHES = 768


class OperationStatus(StrEnum):
    """Where an operation stands."""

    PENDING = "PENDING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class OperationKey:
    """What makes one execution of an operation this one; `inputs` hold no times."""

    process_instance_id: str
    activity_id: str
    operation_name: str
    inputs: dict[str, object]

    @property
    def text(self) -> str:
        """The idempotency key, readable while it is short enough."""
        parts = self.process_instance_id, self.activity_id, self.operation_name
        readable = "_".join((*parts, fingerprint(self.inputs)))
        return readable if len(readable) <= KEY_LIMIT else fingerprint([*parts, self.inputs])


TRIAL_KEY = OperationKey("", "", "trial", {})


@dataclass(frozen=True, slots=True)
class OperationTerms:
    """How long an operation may run unseen, how often it may start again, how long its result is kept."""

    lease: timedelta
    max_retries: int = 3
    ttl: timedelta = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """A record as stored; `result_data` is encrypted."""

    id: int
    idempotency_key: str
    process_instance_id: str
    activity_id: str
    operation_name: str
    status: OperationStatus
    result_data: str | None
    error_message: str | None
    retry_count: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    lease_expires_at: datetime

    def is_expired(self, now: datetime) -> bool:
        """Whether the record has outlived its purpose."""
        return now > self.expires_at

    def can_retry(self, max_retries: int) -> bool:
        """Whether the operation may start once more."""
        return self.retry_count < max_retries

    def is_running(self, now: datetime) -> bool:
        """Whether somebody is at it; a dead worker's lease ends."""
        return self.status is OperationStatus.PENDING and now < self.lease_expires_at


@dataclass(frozen=True, slots=True)
class StartedOperation:
    """The operation is ours to run."""

    idempotency_key: str
    retry_count: int
    lease_expires_at: datetime


@dataclass(frozen=True, slots=True)
class MayStart:
    """The operation may start, for the first time or once more."""

    retry_count: int = 0
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class Cached:
    """The operation ran before; this is its (encrypted) result."""

    result_data: str


@dataclass(frozen=True, slots=True)
class InProgress:
    """Somebody else runs it, at most until then."""

    until: datetime


@dataclass(frozen=True, slots=True)
class RetriesExhausted:
    """It failed too often."""

    retry_count: int
    error_message: str | None


Beginning = StartedOperation | Cached | InProgress | RetriesExhausted


def standing(
    known: IdempotencyRecord | None, terms: OperationTerms, now: datetime
) -> MayStart | Cached | InProgress | RetriesExhausted:
    """Whether an operation may start, by the record of an earlier start if there is one."""
    if known is None:
        return MayStart()
    if known.is_running(now):
        return InProgress(known.lease_expires_at)
    if known.is_expired(now):
        return MayStart(is_new=False)
    if known.status is OperationStatus.SUCCESS and known.result_data is not None:
        return Cached(known.result_data)
    if not known.can_retry(terms.max_retries):
        return RetriesExhausted(known.retry_count, known.error_message)
    return MayStart(known.retry_count + 1, is_new=False)


class IdempotencyRecords:
    """Records by key, by process instance, by age; the unique index settles every race."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def begin(self, key: OperationKey, terms: OperationTerms, *, now: datetime) -> Beginning:
        """Start the operation, or say why not."""
        if await self._insert(key, terms, now):
            return StartedOperation(key.text, 0, now + terms.lease)
        known = await self.find_by_key(key.text, lock=True)
        if known is None:  # cleaned up between the two statements
            return InProgress(now)
        found = standing(await self._shortened(known, terms, now), terms, now)
        return await self.start_again(key, found, terms, now=now) if isinstance(found, MayStart) else found

    async def known(
        self, keys: Collection[str], terms: OperationTerms, *, now: datetime
    ) -> Mapping[str, IdempotencyRecord]:
        """The records of those of the operations that were started before, locked."""
        found = await self._find(among(self._connection, records.c.idempotency_key, keys), lock=True)
        return {record.idempotency_key: await self._shortened(record, terms, now) for record in found}

    async def _shortened(
        self, known: IdempotencyRecord, terms: OperationTerms, now: datetime
    ) -> IdempotencyRecord:
        """The record; a lease that was begun by a clock that was ahead ends as one that begins now."""
        latest = latest_end(now, terms.lease)
        if not known.is_running(now) or known.lease_expires_at <= latest:
            return known
        shorter = update(records).where(records.c.id == known.id).values(lease_expires_at=latest)
        await self._connection.execute(shorter)
        tell_shortened(known.operation_name, latest, process=known.process_instance_id)
        return replace(known, lease_expires_at=latest)

    async def start_all(
        self, keys: Sequence[OperationKey], terms: OperationTerms, *, now: datetime
    ) -> Sequence[StartedOperation]:
        """Start operations without a record; when somebody else starts one meanwhile it is an error."""
        await self._connection.execute(insert(records), [_fresh_row(key, terms, now) for key in keys])
        return [StartedOperation(key.text, 0, now + terms.lease) for key in keys]

    async def _insert(self, key: OperationKey, terms: OperationTerms, now: datetime) -> bool:
        statement = insert_into(self._connection, records).values(_fresh_row(key, terms, now))
        unless_known = statement.on_conflict_do_nothing(index_elements=[records.c.idempotency_key])
        return (await self._connection.execute(unless_known)).rowcount == 1

    async def start_again(
        self, key: OperationKey, may: MayStart, terms: OperationTerms, *, now: datetime
    ) -> StartedOperation:
        """Start an operation that has a record."""
        values = {
            "status": OperationStatus.PENDING,
            "result_data": None,
            "retry_count": may.retry_count,
            "updated_at": now,
            "expires_at": now + terms.ttl,
            "lease_expires_at": now + terms.lease,
        }
        mine = records.c.idempotency_key == key.text
        await self._connection.execute(update(records).where(mine).values(values))
        return StartedOperation(key.text, may.retry_count, now + terms.lease)

    async def mark_success(self, started: StartedOperation, result_data: str, *, now: datetime) -> bool:
        """Keep the (encrypted) result; whoever comes next gets it. False when the lease was lost."""
        success = OperationStatus.SUCCESS
        return await self._settle(
            started, status=success, result_data=result_data, error_message=None, updated_at=now
        )

    async def mark_all(self, results: Iterable[tuple[StartedOperation, str]], *, now: datetime) -> None:
        """Keep the (encrypted) results of several."""
        held = records.c.lease_expires_at == bindparam("held")
        statement = update(records).where(records.c.idempotency_key == bindparam("of"), held)
        values = {"status": OperationStatus.SUCCESS, "error_message": None, "updated_at": now}
        rows = [
            values | {"of": started.idempotency_key, "held": started.lease_expires_at, "result_data": result}
            for started, result in results
        ]
        await self._connection.execute(statement, rows)

    async def mark_failed(self, started: StartedOperation, error_message: str, *, now: datetime) -> bool:
        """Keep why it failed; it may start again. False when the lease was lost."""
        failed = OperationStatus.FAILED
        return await self._settle(started, status=failed, error_message=error_message, updated_at=now)

    async def forget(self, started: StartedOperation) -> None:
        """Nothing was done after all: as if it had never started."""
        await self._connection.execute(delete(records).where(*_held_by(started)))

    async def take_back(self, started: StartedOperation) -> None:
        """It could not be done this time, through no fault of its own: as if it had not been tried."""
        if started.retry_count:
            await self._settle(started, status=OperationStatus.FAILED, retry_count=started.retry_count - 1)
        else:
            await self.forget(started)

    async def try_to_write(self) -> None:
        """Begin, fill and forget a record of its own: a write on trial that leaves nothing behind."""
        begun = await self.begin(TRIAL_KEY, OperationTerms(lease=timedelta()), now=TRIAL_MOMENT)
        if isinstance(begun, StartedOperation):
            filling = "".join(fingerprint(number) for number in range(TRIAL_HASHES))
            await self.mark_success(begun, filling, now=TRIAL_MOMENT)
            await self.forget(begun)

    async def forget_failed(self, process_instance_id: str, *, now: datetime) -> int:
        """Let failed and abandoned operations of a process instance start anew; how many there were."""
        abandoned = (records.c.status == OperationStatus.PENDING) & (records.c.lease_expires_at <= now)
        failed = (records.c.status == OperationStatus.FAILED) | abandoned
        mine = records.c.process_instance_id == process_instance_id
        return (await self._connection.execute(delete(records).where(mine, failed))).rowcount

    async def _settle(self, started: StartedOperation, **values: object) -> bool:
        done = await self._connection.execute(update(records).where(*_held_by(started)).values(values))
        return done.rowcount == 1

    async def find_by_key(self, key: str, *, lock: bool = False) -> IdempotencyRecord | None:
        """findByIdempotencyKey."""
        found = await self._find(records.c.idempotency_key == key, lock=lock)
        return found[0] if found else None

    async def find_by_process_instance(self, process_instance_id: str) -> Sequence[IdempotencyRecord]:
        """findByProcessInstanceId."""
        return await self._find(records.c.process_instance_id == process_instance_id)

    async def find_by_status_created_before(
        self, status: OperationStatus, cutoff: datetime
    ) -> Sequence[IdempotencyRecord]:
        """findByStatusAndCreatedAtBefore: what hangs."""
        return await self._find(records.c.created_at < cutoff, records.c.status == status)

    async def delete_expired(self, now: datetime, limit: int) -> int:
        """deleteByExpiresAtBefore, at most so many at a time; what still runs stays."""
        running = (records.c.status == OperationStatus.PENDING) & (records.c.lease_expires_at > now)
        oldest = (
            select(records.c.id)
            .where(records.c.expires_at < now, ~running)
            .order_by(records.c.expires_at)
            .limit(limit)
        )
        return (await self._connection.execute(delete(records).where(records.c.id.in_(oldest)))).rowcount

    async def _find(self, *where: ColumnElement[bool], lock: bool = False) -> Sequence[IdempotencyRecord]:
        query = select(records).where(*where).order_by(records.c.created_at, records.c.id)
        rows = await self._connection.execute(query.with_for_update() if lock else query)
        return [_record(row) for row in rows]


def _held_by(started: StartedOperation) -> tuple[ColumnElement[bool], ...]:
    """The record, while nobody else has taken it over."""
    mine = records.c.idempotency_key == started.idempotency_key
    return mine, records.c.lease_expires_at == started.lease_expires_at


def _fresh_row(key: OperationKey, terms: OperationTerms, now: datetime) -> dict[str, object]:
    return {
        "idempotency_key": key.text,
        "process_instance_id": key.process_instance_id,
        "activity_id": key.activity_id,
        "operation_name": key.operation_name,
        "status": OperationStatus.PENDING,
        "retry_count": 0,
        "created_at": now,
        "updated_at": now,
        "expires_at": now + terms.ttl,
        "lease_expires_at": now + terms.lease,
    }


def _record(row: Row[Any]) -> IdempotencyRecord:
    return IdempotencyRecord(**(dict(row._mapping) | {"status": OperationStatus(row.status)}))
