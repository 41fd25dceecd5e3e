"""RN-IdempotencyRecord within a handler's own transactions: several operations begin or end in one commit."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from json import dumps, loads

import structlog

from domain.observations import Observe, OperationRepeated, nobody_watches
from domain.redaction import redact
from persistence.encryption.cipher import Cipher
from persistence.repositories.idempotency import (
    Cached,
    IdempotencyRecord,
    InProgress,
    MayStart,
    OperationKey,
    OperationTerms,
    RetriesExhausted,
    StartedOperation,
    standing,
)
from persistence.store import Transaction
from workers.jobs.idempotent import ASK_AGAIN, Operation, exhausted, in_progress, operation_key
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Fail, Incident, Outcome, Postpone, Throw, from_json, to_json

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Start:
    """An operation that may start, for the first time or again."""

    key: OperationKey
    may: MayStart


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a job is told whose operation ran before, runs, or must not run again."""

    told: Outcome


Starts = Mapping[str, Start | Remembered]


@dataclass(frozen=True, slots=True)
class Once:
    """An operation that runs once per key: a repetition gets the first result, a parallel one has to wait."""

    operation: Operation
    cipher: Cipher
    terms: OperationTerms
    observe: Observe = nobody_watches

    async def standing(self, tx: Transaction, jobs: Mapping[str, Job], now: datetime) -> Starts:
        """Whether each job's operation may start; jobs go by any name."""
        keys = {name: operation_key(job, self.operation) for name, job in jobs.items()}
        known = await tx.idempotency.known([key.text for key in keys.values()], self.terms, now=now)
        return {name: self._start(jobs[name], key, known.get(key.text), now) for name, key in keys.items()}

    def _start(
        self, job: Job, key: OperationKey, known: IdempotencyRecord | None, now: datetime
    ) -> Start | Remembered:
        match standing(known, self.terms, now):
            case MayStart() as may:
                return Start(key, may)
            case Cached(result_data):
                self.observe(OperationRepeated(self.operation.name))
                return Remembered(from_json(loads(self.cipher.decrypt(result_data, context=key.text))))
            case InProgress(until):
                wait = max(until - now, timedelta()) + ASK_AGAIN
                return Remembered(Postpone(in_progress(self.operation), wait))
            case RetriesExhausted(retry_count, error):
                return Remembered(Incident(exhausted(job, self.operation, retry_count, error)))

    async def begin(
        self, tx: Transaction, starts: Starts, names: Collection[str], now: datetime
    ) -> Mapping[str, StartedOperation]:
        """Put on record that these operations have begun."""
        ours = {name: start for name, start in starts.items() if name in names and isinstance(start, Start)}
        new = {name: start for name, start in ours.items() if start.may.is_new}
        started: dict[str, StartedOperation] = {}
        if new:
            keys = [start.key for start in new.values()]
            began = await tx.idempotency.start_all(keys, self.terms, now=now)
            started = dict(zip(new, began, strict=True))
        for name in ours.keys() - new.keys():
            self._tell_again(name, ours[name].may.retry_count)
            may, key = ours[name].may, ours[name].key
            started[name] = await tx.idempotency.start_again(key, may, self.terms, now=now)
        return started

    def _tell_again(self, claim_id: str, retry: int) -> None:
        if retry:
            log.warning("operation_restarted", operation=self.operation.name, claim=claim_id, retry=retry)

    async def remember(
        self, tx: Transaction, starts: Starts, told: Mapping[str, object], now: datetime
    ) -> None:
        """Keep the results of operations that ended where they began."""
        results = {name: one for name, one in told.items() if self.is_result(one)}
        if begun := await self.begin(tx, starts, results, now):
            await self.settle_all(tx, [(begun[name], results[name]) for name in begun], now)

    def is_result(self, told: object) -> bool:
        """Whether something was done that whoever asks again is to be told."""
        match told:
            case Throw(code):
                return code not in self.operation.undone
            case other:
                return isinstance(other, Complete)

    async def settle_all(
        self, tx: Transaction, ended: Sequence[tuple[StartedOperation, object]], now: datetime
    ) -> None:
        """Put on record what came of operations; what was not done leaves no record."""
        results = [(started, self._sealed(started, one)) for started, one in ended if self.is_result(one)]
        if results:
            await tx.idempotency.mark_all(results, now=now)
        for started, one in ended:
            if not self.is_result(one):
                await self._settle(tx, started, one, now)

    def _sealed(self, started: StartedOperation, told: object) -> str:
        assert isinstance(told, Complete | Throw)  # noqa: S101  # `is_result` says so
        return self.cipher.encrypt(dumps(to_json(told)), context=started.idempotency_key)

    async def _settle(self, tx: Transaction, started: StartedOperation, told: object, now: datetime) -> None:
        match told:
            case Fail(message) | Incident(message, is_undone=False):
                await tx.idempotency.mark_failed(started, redact(message), now=now)
            case Postpone():
                await tx.idempotency.take_back(started)
            case Exception():  # its message may quote variables
                await tx.idempotency.mark_failed(started, type(told).__name__, now=now)
            case _:
                await tx.idempotency.forget(started)
