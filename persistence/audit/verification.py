"""Proves the audit trail: no event changed, removed or moved, and every decision follows from its policy."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.policy import Policy
from persistence.audit.adoption_check import AdoptionCheck
from persistence.audit.anchor_check import AnchorCheck, checked, is_pruned
from persistence.audit.anchors import Anchor, Anchors, span
from persistence.audit.beginning_check import BeginningCheck
from persistence.audit.chain import GENESIS, AuditEvent, is_sealed
from persistence.audit.checkpoints import Checkpoint, Checkpoints
from persistence.audit.cross_check import missed_decisions, missed_deeds
from persistence.audit.decision_check import DAMAGE, decision_problem
from persistence.audit.earlier_rules import bounds_problem, is_of_earlier_rules
from persistence.audit.event_data import event_data
from persistence.audit.events import Audit
from persistence.audit.guard_check import open_gaps
from persistence.audit.notes import Notes
from persistence.audit.order_check import OrderCheck
from persistence.audit.seal_check import SealCheck
from persistence.audit.seals import UNSEALED, Seals
from persistence.audit.trail import DECIDED, RECEIVED
from persistence.repositories.policies import Policies
from persistence.tables import audit_events, retry_decisions

PAGE = 1_000
BEGINNING = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class AuditProblem:
    """One thing that is not as it should be."""

    where: str
    what: str


@dataclass(slots=True)
class Tally:
    """What a verification looked at; `closed_in` are events that signed anchors prove and no seal.

    `begun` is the anchor with which the trail begins.
    """

    events: int = 0
    decisions: int = 0
    anchors: int = 0
    not_decided_again: int = 0
    closed_in: int = 0
    begun: Anchor | None = None


class Verification:
    """One walk through the whole trail; `tally` counts as it goes."""

    def __init__(self, connection: AsyncConnection, seals: Seals = UNSEALED) -> None:
        self._connection = connection
        self._seals = seals
        self._audit = Audit(connection, seals)
        self._policies: dict[tuple[str, str], Policy | None] = {}
        self.tally = Tally()

    async def problems(
        self, now: datetime, kept: Checkpoint | None = None, *, beginning: str | None = None
    ) -> AsyncIterator[AuditProblem]:
        """Everything that is wrong, chain by chain, then day by day, then against what was `kept` outside.

        `beginning` is the hash of the trail's beginning, where it was noted outside the database.

        A row that nobody can read ends it.
        """
        try:
            async for problem in self._problems(now, kept, beginning):
                yield problem
        except DAMAGE as error:  # SQLite keeps any text where a time should be
            what = f"a row cannot be read ({type(error).__name__}): what comes after it was not looked at"
            yield AuditProblem("the trail", what)

    async def _problems(
        self, now: datetime, kept: Checkpoint | None, beginning: str | None
    ) -> AsyncIterator[AuditProblem]:
        anchors = await Anchors(self._connection).all()
        self.tally.anchors = sum(not anchor.is_beginning for anchor in anchors)
        check = checked(anchors, self._seals, now)
        pruned_until = max((span(a.day)[1] for a in anchors if is_pruned(a, now)), default=BEGINNING)
        begun = check.beginning.anchored_at if check.beginning else BEGINNING
        since = max(begun, pruned_until)
        orders, adoptions = OrderCheck(since), AdoptionCheck(since)
        parts = (
            self._gaps(),
            self._wrong_chains(check, pruned_until, (orders, adoptions)),
            self._wrong_orders(orders, now),
            self._wrong_adoptions(adoptions, now),
            self._missing(pruned_until),
            self._missing_deeds(since),
            self._wrong_beginning(check, beginning),
            self._wrong_anchors(check),
            self._against(kept, check),
        )
        for part in parts:
            async for problem in part:
                yield problem

    async def _gaps(self) -> AsyncIterator[AuditProblem]:
        async for where, what in open_gaps(self._connection):
            yield AuditProblem(where, what)

    async def _wrong_beginning(self, check: AnchorCheck, noted: str | None) -> AsyncIterator[AuditProblem]:
        self.tally.begun = check.beginning
        async for where, what in BeginningCheck(self._connection, check, noted).problems(self._seals):
            yield AuditProblem(where, what)

    async def _wrong_orders(self, orders: OrderCheck, now: datetime) -> AsyncIterator[AuditProblem]:
        async for where, what in orders.problems(self._connection, now):
            yield AuditProblem(where, what)

    async def _wrong_adoptions(self, adoptions: AdoptionCheck, now: datetime) -> AsyncIterator[AuditProblem]:
        async for where, what in adoptions.problems(self._connection, Notes(self._audit), now):
            yield AuditProblem(where, what)

    async def _wrong_chains(
        self, check: AnchorCheck, pruned_until: datetime, gathering: tuple[OrderCheck | AdoptionCheck, ...]
    ) -> AsyncIterator[AuditProblem]:
        seals = SealCheck(self._seals, check)
        async for chain in self._chains():
            for one in gathering:
                one.see(chain)
            for problem in chain_problems(chain, pruned_until):
                yield problem
            for where, what in seals.problems(chain):
                yield AuditProblem(where, what)
            async for problem in self._wrong_decisions(chain):
                yield problem
        self.tally.closed_in = seals.closed_in
        for where, what in seals.summary():
            yield AuditProblem(where, what)

    async def _missing(self, pruned_until: datetime) -> AsyncIterator[AuditProblem]:
        cut = set()
        async for claim_id, problem in self._missing_trails(pruned_until):
            cut.add(claim_id)
            yield problem
        async for claim_id, number in missed_decisions(self._connection, pruned_until):
            if claim_id not in cut:
                what = f"{number} decisions are told of elsewhere, but were removed with their audit events"
                yield AuditProblem(claim_id, what)

    async def _missing_deeds(self, since: datetime) -> AsyncIterator[AuditProblem]:
        async for claim_id, name, number in missed_deeds(self._connection, since):
            what = f"{number} of {name!r} are told of elsewhere, but not in its trail: they were removed"
            yield AuditProblem(claim_id, what)

    async def _wrong_anchors(self, check: AnchorCheck) -> AsyncIterator[AuditProblem]:
        async for anchor, what in check.problems(self._audit):
            yield AuditProblem(f"anchor of {anchor.day}", what)

    async def _against(self, kept: Checkpoint | None, check: AnchorCheck) -> AsyncIterator[AuditProblem]:
        if kept is None:
            return
        checkpoints = Checkpoints(self._connection, self._seals)
        if what := await checkpoints.problem(kept, pruned_through=check.pruned_through):
            yield AuditProblem("the anchor kept outside", what)

    async def _chains(self) -> AsyncIterator[Sequence[AuditEvent]]:
        """Each claim's events; a chain may reach over the end of a page."""
        kept: list[AuditEvent] = []
        place = ("", 0)
        while page := await self._audit.page(place, PAGE):
            place = page[-1].claim_id, page[-1].sequence
            for claim_id, part in groupby(page, key=lambda event: event.claim_id):
                if kept and kept[0].claim_id != claim_id:
                    yield kept
                    kept = []
                kept.extend(part)
        if kept:
            yield kept

    async def _wrong_decisions(self, chain: Sequence[AuditEvent]) -> AsyncIterator[AuditProblem]:
        self.tally.events += len(chain)
        received: dict[str, Any] = {}
        for event in chain:
            if event.event == RECEIVED:
                received = event_data(event)
            elif event.event == DECIDED:
                self.tally.decisions += 1
                if problem := await self._decision_problem(event, received):
                    yield AuditProblem(f"{event.claim_id} event {event.sequence}", problem)

    async def _decision_problem(self, event: AuditEvent, received: dict[str, Any]) -> str | None:
        decided = event_data(event)
        version, profile = str(decided.get("policyVersion")), str(received.get("profile"))
        try:
            policy = await self._policy(version, profile)
        except DAMAGE as error:
            return f"its policy {version} ({profile}) cannot be read ({type(error).__name__})"
        if policy is None:
            return f"its policy {version} ({profile}) is not kept"
        problem = decision_problem(event, received, decided, policy)
        if problem is None or not is_of_earlier_rules(received):
            return problem
        self.tally.not_decided_again += 1
        try:
            return bounds_problem(event, received, decided, policy)
        except DAMAGE as error:
            return f"it cannot be read ({type(error).__name__})"

    async def _policy(self, version: str, profile: str) -> Policy | None:
        asked = version, profile
        if asked not in self._policies:
            self._policies[asked] = await Policies(self._connection).find(version, profile)
        return self._policies[asked]

    async def _missing_trails(self, pruned_until: datetime) -> AsyncIterator[tuple[str, AuditProblem]]:
        """Decisions whose events are gone: an end cut off a chain leaves no gap in it."""
        end = and_(
            audit_events.c.claim_id == retry_decisions.c.claim_id,
            audit_events.c.sequence == retry_decisions.c.audit_sequence,
        )
        query = (
            select(retry_decisions.c.claim_id, retry_decisions.c.audit_sequence)
            .outerjoin_from(retry_decisions, audit_events, end)
            .where(audit_events.c.event_id.is_(None), retry_decisions.c.decided_at >= pruned_until)
        )
        for row in await self._connection.execute(query):
            where = f"{row.claim_id} event {row.audit_sequence}"
            yield row.claim_id, AuditProblem(where, "the decision is kept, but its event is gone")


def chain_problems(chain: Sequence[AuditEvent], pruned_until: datetime) -> Iterator[AuditProblem]:
    """What is wrong within one claim's chain; its beginning may be gone only where retention went."""
    first = chain[0]
    if first.sequence != 1 and pruned_until == BEGINNING:
        yield AuditProblem(
            f"{first.claim_id} event 1", f"missing: the chain begins with event {first.sequence}"
        )
    expected, previous = first.sequence, GENESIS if first.sequence == 1 else first.previous_hash
    for event in chain:
        where = f"{event.claim_id} event {event.sequence}"
        if event.sequence != expected and event.at >= pruned_until:
            yield AuditProblem(where, f"event {expected} before it is missing")
        elif event.previous_hash != previous and event.sequence == expected:
            yield AuditProblem(
                where, "it does not follow the event before it: one of them was replaced or moved"
            )
        if not is_sealed(event):
            yield AuditProblem(where, "it was changed")
        expected, previous = event.sequence + 1, event.hash
