"""The repositories, and the unit of work that commits them together.

A job is one transaction as a rule. submit-claim has two or more, one before it asks its payer and one after
(see there): none may stay open meanwhile, and a crash must leave on record that the claim had left.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from persistence.audit.anchors import Anchors
from persistence.audit.checkpoints import Checkpoints
from persistence.audit.events import Audit
from persistence.audit.key_needs import KeyNeeds
from persistence.audit.notes import Notes
from persistence.audit.rejections import Rejections
from persistence.audit.seals import UNSEALED, Seals
from persistence.audit.verification import Verification
from persistence.database.engine import answers, looking
from persistence.database.group_commit import GroupCommit, nobody_is_told
from persistence.database.time import database_time
from persistence.database.trouble import (
    UNREACHABLE,
    DatabaseError,
    is_worth_repeating,
    may_pass,
    reachable,
)
from persistence.database.watch import Access, Watch, unwatched
from persistence.decision_log import DecisionLog
from persistence.export import Export
from persistence.repositories.adopted_policies import AdoptedPolicies
from persistence.repositories.attempts import Attempts
from persistence.repositories.begun_sends import BegunSends
from persistence.repositories.bulk_orders import BulkOrders
from persistence.repositories.claim_lists import ClaimLists
from persistence.repositories.claims import Claims
from persistence.repositories.control_reports import ControlReports
from persistence.repositories.dead_letters import DeadLetters
from persistence.repositories.decisions import Decisions
from persistence.repositories.draft import DecisionDraft, Recorded
from persistence.repositories.figures import Figures
from persistence.repositories.first_rounds import FirstRounds
from persistence.repositories.free_texts import FreeTexts
from persistence.repositories.guides import Guides
from persistence.repositories.idempotency import IdempotencyRecords
from persistence.repositories.incidents import Incidents
from persistence.repositories.journal import Journal
from persistence.repositories.kpi_snapshots import KpiSnapshots
from persistence.repositories.kpis import Kpis
from persistence.repositories.leases import Leases
from persistence.repositories.legal_holds import LegalHolds
from persistence.repositories.letter_entries import LetterEntries
from persistence.repositories.login_trials import LoginTrials
from persistence.repositories.logins import Logins
from persistence.repositories.mail_lanes import MailLanes
from persistence.repositories.mail_limits import MailPaces
from persistence.repositories.mails import Mails
from persistence.repositories.operator_orders import OperatorOrders
from persistence.repositories.outbox import Outbox
from persistence.repositories.overview import Overview
from persistence.repositories.past_claims import PastClaims
from persistence.repositories.payer_traffic import PayerTraffic
from persistence.repositories.payers import Payers
from persistence.repositories.payloads import Payloads
from persistence.repositories.people import KnownPeople
from persistence.repositories.people_sessions import PeopleSessions
from persistence.repositories.policies import Policies
from persistence.repositories.review_desk import ReviewDesk
from persistence.repositories.reviews import Notices, Reviews
from persistence.repositories.saved_filters import SavedFilters
from persistence.repositories.sealed import SealedValues
from persistence.repositories.standstills import Standstills
from persistence.repositories.tenant_figures import TenantFigures
from persistence.repositories.upkeep_runs import UpkeepRuns
from persistence.retention import ExpiredRecords

Result = TypeVar("Result")
PAUSES_SECONDS = (0.02, 0.1, 0.3)
"""Before each of the three repetitions that RN-BIL-005 8.2 gives to writing the log and to scheduling."""
NO_ANSWER = "the database does not answer"
BELIEVED_SECONDS = 30.0
"""How long a refused write counts: longer than the pause after which the job that met it tries again."""
WRITE_AGAIN_SECONDS = 1.0
TRIAL_SECONDS = 5.0
NO_TURN = nullcontext[None]()


@dataclass(frozen=True, slots=True)
class RefusedWrite:
    """A write that was not made: why, and when by the monotonic clock."""

    why: str
    at: float


class Transaction:
    """All repositories on one connection; the caller's block commits, or nothing happened."""

    def __init__(self, connection: AsyncConnection, seals: Seals = UNSEALED) -> None:
        self._connection = connection
        self.anchors = Anchors(connection, seals)
        self.audit = Audit(connection, seals)
        self.notes = Notes(self.audit)
        self.adopted_policies = AdoptedPolicies(connection, self.notes)
        self.attempts = Attempts(connection, self.notes)
        self.audit_keys = KeyNeeds(connection, seals)
        self.begun_sends = BegunSends(connection)
        self.bulk_orders = BulkOrders(connection)
        self.checkpoints = Checkpoints(connection, seals)
        self.claims = Claims(connection)
        self.claim_lists = ClaimLists(connection)
        self.dead_letters = DeadLetters(connection)
        self.control_reports = ControlReports(connection)
        self.decision_log = DecisionLog(connection, seals)
        self.decisions = Decisions(connection)
        self.expired = ExpiredRecords(connection)
        self.export = Export(connection)
        self.first_rounds = FirstRounds(connection)
        self.figures = Figures(connection)
        self.free_texts = FreeTexts(connection)
        self.guides = Guides(connection)
        self.holds = LegalHolds(connection, self.notes)
        self.idempotency = IdempotencyRecords(connection)
        self.incidents = Incidents(connection)
        self.journal = Journal(connection, self.notes)
        self.kpis = Kpis(connection)
        self.kpi_snapshots = KpiSnapshots(connection)
        self.leases = Leases(connection)
        self.login_trials = LoginTrials(connection)
        self.logins = Logins(self.notes)
        self.mail_lanes = MailLanes(connection)
        self.mail_paces = MailPaces(connection)
        self.letter_entries = LetterEntries(connection)
        self.mails = Mails(connection)
        self.notices = Notices(connection)
        self.orders = OperatorOrders(connection, self.notes)
        self.outbox = Outbox(connection)
        self.overview = Overview(connection)
        self.past_claims = PastClaims(connection)
        self.payer_traffic = PayerTraffic(connection)
        self.payers = Payers(connection)
        self.payloads = Payloads(connection)
        self.people = KnownPeople(connection)
        self.people_sessions = PeopleSessions(connection)
        self.policies = Policies(connection)
        self.rejections = Rejections(connection, seals)
        self.review_desk = ReviewDesk(connection)
        self.reviews = Reviews(connection)
        self.saved_filters = SavedFilters(connection)
        self.sealed = SealedValues(connection)
        self.standstills = Standstills(connection)
        self.tenant_figures = TenantFigures(connection)
        self.upkeep_runs = UpkeepRuns(connection)
        self.verification = Verification(connection, seals)

    async def time(self) -> datetime:
        """The database's own time."""
        return await database_time(self._connection)


Work = Callable[[Transaction], Awaitable[Result]]
TellRecorded = Callable[[Recorded], None]
Opened = Callable[[], AbstractAsyncContextManager[Transaction]]


class Store:
    """Transactions on one database, and whether it takes writes at the moment."""

    def __init__(
        self,
        engine: AsyncEngine,
        seals: Seals = UNSEALED,
        *,
        seconds: Callable[[], float] = time.monotonic,
        turns: asyncio.Lock | None = None,
        watch: Watch = unwatched,
    ) -> None:
        """`turns` orders the writers of a database that takes one at a time; `watch` sees every access."""
        self._engine = engine
        self._turns = turns or asyncio.Lock()
        self._seals = seals
        self._seconds = seconds
        self.watch = watch
        self._decisions = GroupCommit(self._record, key=lambda draft: draft.claim_id, watch=watch)
        self._refusal: RefusedWrite | None = None

    def sealed_with(self, seals: Seals) -> "Store":
        """The same database, whose audit events are sealed and checked by these keys."""
        return Store(self._engine, seals, seconds=self._seconds, turns=self._turns, watch=self.watch)

    def watched_by(self, watch: Watch) -> "Store":
        """The same database, seen by another."""
        return Store(self._engine, self._seals, seconds=self._seconds, turns=self._turns, watch=watch)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """A transaction that commits when the block ends well and rolls back otherwise."""
        async with self._turn(), self._engine.begin() as connection:
            yield Transaction(connection, self._seals)

    def _turn(self) -> AbstractAsyncContextManager[None]:
        """Writers of one process stand in line for SQLite, which would let them overtake each other."""
        return self._turns if self._engine.dialect.name == "sqlite" else NO_TURN

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        """A look at one moment that waits for no writer; writing in it is a mistake."""
        async with self._engine.connect() as opened:
            connection = await opened.execution_options(**looking(self._engine))
            async with connection.begin():
                yield Transaction(connection, self._seals)

    async def run(self, work: Work[Result]) -> Result:
        """Do the work in a transaction; one that was disturbed is repeated three times, then given up.

        The work may run more than once, so it must do nothing but use its transaction.
        """
        with self._noted(), self.watch(Access.WRITE):
            return await self._tried(work, self.transaction)

    async def run_until_written(
        self, work: Work[Result], turn: AbstractAsyncContextManager[None] = NO_TURN
    ) -> Result:
        """Like `run` for what must not get lost: again and again for as long as trouble may pass.

        Before each try its `turn` is waited for.
        """
        while True:
            try:
                async with turn:
                    return await self.run(work)
            except DatabaseError as error:
                if not may_pass(error):
                    raise
            await asyncio.sleep(WRITE_AGAIN_SECONDS)

    async def look(self, work: Work[Result]) -> Result:
        """Like `run` for work that only reads: it waits for no writer."""
        with reachable(), self.watch(Access.READ):
            return await self._tried(work, self.reading)

    async def _tried(self, work: Work[Result], opened: Opened) -> Result:
        for pause in PAUSES_SECONDS:
            try:
                return await _once(work, opened)
            except UNREACHABLE as error:
                if not is_worth_repeating(error):
                    raise
                await asyncio.sleep(pause)
        return await _once(work, opened)

    async def record(self, draft: DecisionDraft, tell: TellRecorded = nobody_is_told) -> Recorded:
        """Write a decision down durably, in one commit with others that arrive at the same time.

        `tell` gets the answer too, also when whoever asks has stopped waiting for it.
        """
        with self._noted():
            return await self._decisions.add(draft, tell)

    async def finished(self) -> None:
        """Wait until no decision is being written, also of those for which nobody waits any more."""
        await self._decisions.finished()

    async def _record(self, drafts: Sequence[DecisionDraft]) -> Sequence[Recorded]:
        tried: set[int] = set()

        async def work(tx: Transaction) -> Sequence[Recorded]:
            answers = await tx.decision_log.record(drafts)
            own = [replace(one, is_new=True) if n in tried else one for n, one in enumerate(answers)]
            # what is found now was written by a try whose commit went well, and whose answer got lost
            tried.update(n for n, one in enumerate(own) if one.is_new)
            return own

        with self._noted(), self.watch(Access.WRITE):  # noted here too: who asked may have stopped waiting
            return await self._tried(work, self.transaction)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Keep why the last write was not made, or not in time; a write that is made clears it."""
        try:
            with reachable():
                yield
        except DatabaseError as error:
            if may_pass(error):
                self._refusal = RefusedWrite(str(error), self._seconds())
            raise
        except asyncio.CancelledError:
            self._refusal = RefusedWrite(NO_ANSWER, self._seconds())
            raise
        self._refusal = None

    async def time(self) -> datetime:
        """The database's own time."""
        return await self.look(Transaction.time)

    async def answers(self) -> bool:
        """Whether the database answers a question right now."""
        return await answers(self._engine)

    def refuses(self) -> bool:
        """Whether the last write was not made because the database was in trouble."""
        return self._refusal is not None

    async def trouble(self) -> str | None:
        """For readiness: no answer, or an answer but the last write was refused, as on a full disk.

        When nobody has written since, a write on trial shows whether the trouble is over.
        """
        if not await self.answers():
            return NO_ANSWER
        if self._refusal and self._seconds() - self._refusal.at >= BELIEVED_SECONDS:
            await self._try_to_write()
        return self._refusal.why if self._refusal else None

    async def _try_to_write(self) -> None:
        with suppress(DatabaseError, TimeoutError):
            async with asyncio.timeout(TRIAL_SECONDS):
                await self.run(lambda tx: tx.idempotency.try_to_write())


async def _once(work: Work[Result], opened: Opened) -> Result:
    async with opened() as tx:
        return await work(tx)
