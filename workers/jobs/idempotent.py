"""RN-IdempotencyRecord for handlers: declare an operation, and it runs once per business key."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from json import dumps, loads

import structlog

from domain.ports import Clock
from domain.redaction import redact
from persistence.database.trouble import DatabaseError, may_pass
from persistence.encryption.cipher import Cipher, CipherError
from persistence.repositories.idempotency import (
    Beginning,
    Cached,
    InProgress,
    OperationKey,
    OperationTerms,
    RetriesExhausted,
    StartedOperation,
)
from persistence.store import Store
from workers.config.idempotency import IdempotencySettings, OperationName
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Fail, Incident, Outcome, Postpone, Throw, from_json, to_json

LEASE_MARGIN = timedelta(seconds=10)
ASK_AGAIN = timedelta(seconds=1)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Operation:
    """What a handler declares: the operation's name and the variables that make one execution of it.

    `undone` are the BPMN errors that say that nothing was done: such an execution leaves no record.
    """

    name: OperationName
    inputs: tuple[str, ...]
    undone: frozenset[str] = frozenset()
    max_retries: int = 3


@dataclass(frozen=True, slots=True)
class Memory:
    """Where records are kept, how their results are encrypted, by which clock they age, and for how long."""

    store: Store
    cipher: Cipher
    clock: Clock
    idempotency: IdempotencySettings = field(default_factory=IdempotencySettings)


def idempotent(handler: JobHandler, operation: Operation, memory: Memory) -> JobHandler:
    """The handler, run once per key: a repetition gets the first result, a parallel one has to wait."""
    lease, ttl = handler.time_limit + LEASE_MARGIN, memory.idempotency.ttl(operation.name)
    terms = OperationTerms(lease=lease, max_retries=operation.max_retries, ttl=ttl)
    once = _Once(handler, operation, memory, terms)
    variables = (*handler.variables, *(name for name in operation.inputs if name not in handler.variables))
    return replace(handler, variables=variables, handle=once.handle)


@dataclass(frozen=True, slots=True)
class _Once:
    handler: JobHandler
    operation: Operation
    memory: Memory
    terms: OperationTerms

    async def handle(self, job: Job) -> Outcome:
        """Begin, run, settle; or answer from the record."""
        now = await self.memory.clock.now()
        key = operation_key(job, self.operation)
        match await self._begin(key, now):
            case StartedOperation() as started:
                return await self._run(job, key, started)
            case Cached(result_data):
                return from_json(loads(self.memory.cipher.decrypt(result_data, context=key.text)))
            case InProgress(until):
                return Postpone(in_progress(self.operation), max(until - now, timedelta()) + ASK_AGAIN)
            case RetriesExhausted(retry_count, error):
                return Incident(exhausted(job, self.operation, retry_count, error))

    async def _begin(self, key: OperationKey, now: datetime) -> Beginning:
        return await self.memory.store.run(lambda tx: tx.idempotency.begin(key, self.terms, now=now))

    async def _run(self, job: Job, key: OperationKey, started: StartedOperation) -> Outcome:
        if started.retry_count:
            log.warning("operation_restarted", operation=self.operation.name, retry=started.retry_count)
        try:
            outcome = await self.handler.handle(job)
        except Exception as error:
            await self._settle(started, key, error)
            raise
        await self._settle(started, key, outcome)
        return outcome

    async def _settle(
        self, started: StartedOperation, key: OperationKey, outcome: Outcome | Exception
    ) -> None:
        """Write down what came of it; when even that fails the lease settles it."""
        now = await self.memory.clock.now()
        try:
            await self._write(started, key, outcome, now)
        except DatabaseError as error:
            log.warning("operation_not_settled", operation=self.operation.name, why=str(error))

    async def _write(
        self, started: StartedOperation, key: OperationKey, outcome: Outcome | Exception, now: datetime
    ) -> None:
        run, encrypt = self.memory.store.run, self.memory.cipher.encrypt
        match outcome:
            case Postpone() | CipherError():
                await run(lambda tx: tx.idempotency.take_back(started))
            case DatabaseError() as trouble if may_pass(trouble):
                await run(lambda tx: tx.idempotency.take_back(started))
            case Throw(code) if code in self.operation.undone:
                await run(lambda tx: tx.idempotency.forget(started))
            case Incident(is_undone=True):
                await run(lambda tx: tx.idempotency.forget(started))
            case Complete() | Throw():
                result = encrypt(dumps(to_json(outcome)), context=key.text)
                await run(lambda tx: tx.idempotency.mark_success(started, result, now=now))
            case Fail(message) | Incident(message):
                await run(lambda tx: tx.idempotency.mark_failed(started, redact(message), now=now))
            case error:
                why = type(error).__name__  # its message may quote variables
                await run(lambda tx: tx.idempotency.mark_failed(started, why, now=now))


def operation_key(job: Job, operation: Operation) -> OperationKey:
    """The business key of one execution: instance, activity, operation and the declared inputs."""
    inputs = {name: _plain(job.variables.get(name)) for name in operation.inputs}
    return OperationKey(str(job.process_instance_key), job.element_id, operation.name, inputs)


def _plain(value: object) -> object:
    # JSON has one kind of number: 2 may arrive as 2.0
    return int(value) if isinstance(value, float) and value.is_integer() else value


def in_progress(operation: Operation) -> str:
    """Why a job has to wait."""
    return (
        f"{operation.name} is in progress elsewhere (rule RN-IdempotencyRecord): "
        "it is asked for again when that must be over."
    )


def exhausted(job: Job, operation: Operation, retry_count: int, error: str | None) -> str:
    """Why a job is not run once more, and what to do."""
    return (
        f"{operation.name} was started {retry_count + 1} times and did not end well "
        f"({error or 'its worker died'}; rule RN-IdempotencyRecord). Find out why; then "
        f"`reenvio retention unlock {job.process_instance_key}`, and retry in Operate."
    )
