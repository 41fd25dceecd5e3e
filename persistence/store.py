"""One job, one transaction: the repositories, and the unit of work that commits them together."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TypeVar

from sqlalchemy.exc import DBAPIError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from persistence.anchors import Anchors
from persistence.attempts import Attempts
from persistence.audit import Audit
from persistence.claims import Claims
from persistence.database import READ_ONLY, DatabaseError, answers, has_waited, may_pass, reachable
from persistence.decisions import Decisions
from persistence.desk import Notices, Reviews
from persistence.draft import DecisionDraft, Recorded
from persistence.export import Export
from persistence.group import GroupCommit
from persistence.holds import Holds
from persistence.idempotency import IdempotencyRecords
from persistence.journal import Journal
from persistence.leases import Leases
from persistence.ledger import Ledger
from persistence.outbox import Outbox
from persistence.payers import Payers
from persistence.payloads import Payloads
from persistence.policies import Policies
from persistence.retention import Remains
from persistence.verification import Verification

Result = TypeVar("Result")
PAUSES_SECONDS = (0.02, 0.1, 0.3)
"""Before each of the three repetitions that RN-BIL-005 8.2 gives to writing the log and to scheduling."""
PASSING = (DBAPIError, PoolTimeoutError, OSError)


class Transaction:
    """All repositories on one connection; the caller's block commits, or nothing happened."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.anchors = Anchors(connection)
        self.attempts = Attempts(connection)
        self.audit = Audit(connection)
        self.claims = Claims(connection)
        self.decisions = Decisions(connection)
        self.export = Export(connection)
        self.holds = Holds(connection)
        self.idempotency = IdempotencyRecords(connection)
        self.journal = Journal(connection)
        self.leases = Leases(connection)
        self.ledger = Ledger(connection)
        self.notices = Notices(connection)
        self.outbox = Outbox(connection)
        self.payers = Payers(connection)
        self.payloads = Payloads(connection)
        self.policies = Policies(connection)
        self.remains = Remains(connection)
        self.reviews = Reviews(connection)
        self.verification = Verification(connection)


Work = Callable[[Transaction], Awaitable[Result]]
Opened = Callable[[], AbstractAsyncContextManager[Transaction]]


class Store:
    """The door to the database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._decisions = GroupCommit(self._record, key=lambda draft: draft.claim_id)
        self._refused: str | None = None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """A transaction that commits when the block ends well and rolls back otherwise."""
        async with self._engine.begin() as connection:
            yield Transaction(connection)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        """A look at one moment that waits for no writer; writing in it is a mistake."""
        async with self._engine.connect() as opened:
            connection = await opened.execution_options(**{READ_ONLY: True})
            async with connection.begin():
                yield Transaction(connection)

    async def run(self, work: Work[Result]) -> Result:
        """Do the work in a transaction; one that was disturbed is repeated three times, then given up.

        The work may run more than once, so it must do nothing but use its transaction.
        """
        with self._noted():
            return await self._tried(work, self.transaction)

    async def look(self, work: Work[Result]) -> Result:
        """Like `run` for work that only reads: it waits for no writer."""
        with reachable():
            return await self._tried(work, self.reading)

    async def _tried(self, work: Work[Result], opened: Opened) -> Result:
        for pause in PAUSES_SECONDS:
            try:
                return await _once(work, opened)
            except PASSING as error:
                if isinstance(error, ProgrammingError) or has_waited(error):
                    raise
                await asyncio.sleep(pause)
        return await _once(work, opened)

    async def record(self, draft: DecisionDraft) -> Recorded:
        """Write a decision down durably, in one commit with others that arrive at the same time."""
        with self._noted():
            return await self._decisions.add(draft)

    async def _record(self, drafts: Sequence[DecisionDraft]) -> Sequence[Recorded]:
        return await self._tried(lambda tx: tx.ledger.record(drafts), self.transaction)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Keep what was said when the last write could not be made; a write that is made clears it."""
        try:
            with reachable():
                yield
        except DatabaseError as error:
            self._refused = str(error) if may_pass(error) else self._refused
            raise
        self._refused = None

    async def answers(self) -> bool:
        """Whether the database answers a question right now."""
        return await answers(self._engine)

    async def trouble(self) -> str | None:
        """For readiness: no answer, or an answer but the last write was refused, as on a full disk."""
        return self._refused if await self.answers() else "the database does not answer"


async def _once(work: Work[Result], opened: Opened) -> Result:
    async with opened() as tx:
        return await work(tx)
