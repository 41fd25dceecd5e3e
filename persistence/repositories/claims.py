"""Claims: one row each, saying where it stands."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, get_args

import structlog
from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    and_,
    bindparam,
    insert,
    literal_column,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import CLOSABLE, ClaimState, SendBeginning, predecessors
from domain.permission import Standing
from domain.standing import HeldJob
from persistence.database.dialect import among, insert_into
from persistence.database.rows import row_of
from persistence.repositories.incidents import StuckJob, read_stuck_job
from persistence.tables import claim_payloads, claims

DecidedState = Literal[ClaimState.WAITING, ClaimState.FAILED]
JOB_COLUMNS = ("job_key", "job_retries", "job_until", "job_place")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A claim as stored."""

    claim_id: str
    payer_id: str
    state: ClaimState
    retry_count: int
    next_retry_time: datetime | None
    protocol_number: str | None
    reason: str | None
    updated_at: datetime
    created_at: datetime | None = None
    deadline: datetime | None = None
    content_hash: str | None = None
    batch_number: str | None = None
    guides_of: str | None = None
    incident: StuckJob | None = None
    process_instance_key: int | None = None
    job_key: int | None = None
    job_retries: int | None = None
    job_until: datetime | None = None
    job_place: str | None = None
    job_rests_until: datetime | None = None

    def moved(self, state: ClaimState, *, now: datetime, **changes: Any) -> "ClaimRow":
        """The claim in another state; a wait belongs to one only, and who moves a claim ends its incident."""
        values: dict[str, Any] = {"state": state, "updated_at": now, "next_retry_time": None}
        return replace(self, incident=None, **(values | changes))

    def in_hands_of(self, job: HeldJob | None) -> "ClaimRow":
        """The claim, about which this job writes."""
        return replace(self, **job_columns(job)) if job else self

    def standing(self, protocol_number: str | None) -> Standing:
        """The claim as rules see it, with the number of an acceptance that stands."""
        return Standing(self.state, self.process_instance_key, protocol_number)


@dataclass(frozen=True, slots=True)
class FreeClaims:
    """Claims that are ours alone until the transaction ends, and the ids of those that somebody holds."""

    rows: Mapping[str, ClaimRow]
    held: frozenset[str]


@dataclass(frozen=True, slots=True)
class SentBy:
    """One send of a claim, and the process that made it."""

    claim_id: str
    attempt: int
    process_instance_key: int


@dataclass(frozen=True, slots=True)
class Arrival:
    """A claim that comes in with its file."""

    claim_id: str
    payer_id: str
    deadline: datetime
    content_hash: str
    batch_number: str
    earlier_hash: str = ""

    def has_content(self, kept: str | None) -> bool:
        """Whether a claim's kept hash is this content's, in today's form or in that of earlier versions."""
        return kept in (self.content_hash, self.earlier_hash or self.content_hash)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which claims to list; None does not narrow."""

    state: ClaimState | None = None
    payer_id: str | None = None
    with_incident: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """Where a decision takes its process's claim: to its next send, or to people."""

    claim_id: str
    process_instance_key: int
    state: DecidedState
    retry_count: int
    next_retry_time: datetime | None
    reason: str
    updated_at: datetime
    job: HeldJob | None = None


def job_columns(job: HeldJob | None) -> dict[str, Any]:
    """The columns that name the job that last wrote about a row."""
    if job is None:
        return dict.fromkeys(JOB_COLUMNS)
    given = (job.key, job.retries, job.until, job.written_place)
    return dict(zip(JOB_COLUMNS, given, strict=True))


_BY_SENDS = (
    *("payer_id", "state", "next_retry_time", "protocol_number", "reason", "updated_at"),
    "process_instance_key",
    *JOB_COLUMNS,
)
"""What sends change of a claim."""
_MOVED: dict[str, object] = {
    name: bindparam(f"to_{name}")
    for name in Move.__dataclass_fields__
    if name not in ("claim_id", "process_instance_key", "job")
} | {"incident": null()}
_BY_JOBS: dict[str, object] = {name: bindparam(f"to_{name}") for name in JOB_COLUMNS}


def _follows(state: ClaimState) -> ColumnElement[bool]:
    """Whether a row's move to this state is allowed; spelled out, since many rows share the statement."""
    target: ColumnElement[str] = bindparam("to_state", type_=claims.c.state.type)
    return and_(
        target == _text(state), claims.c.state.in_([_text(one) for one in sorted(predecessors(state))])
    )


def _text(state: ClaimState) -> ColumnElement[str]:
    return literal_column(f"'{state}'")


_DECIDABLE = or_(*(_follows(state) for state in get_args(DecidedState)))
_OF_NOBODY = and_(claims.c.process_instance_key.is_(None), claims.c.state != _text(ClaimState.RECEIVED))
"""An earlier version may have sent it; one that was received and not sent yet has still to be started."""
_DECIDED_BY_OWN = or_(claims.c.process_instance_key == bindparam("to_process_instance_key"), _OF_NOBODY)


class Claims:
    """Claims by id and by state."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def find(self, claim_id: str) -> ClaimRow | None:
        """The claim, or None."""
        found = await self._connection.execute(select(claims).where(claims.c.claim_id == claim_id))
        row = found.one_or_none()
        return None if row is None else read_claim(row)

    async def lock(self, claim_id: str) -> ClaimRow | None:
        """The claim, ours alone until the transaction ends; whoever locks its payer too does that before."""
        query = select(claims).where(claims.c.claim_id == claim_id).with_for_update()
        row = (await self._connection.execute(query)).one_or_none()
        return None if row is None else read_claim(row)

    async def lock_all(self, claim_ids: Collection[str]) -> Mapping[str, ClaimRow]:
        """Those of the claims that are known, ours alone until the transaction ends."""
        mine = among(self._connection, claims.c.claim_id, claim_ids)
        query = select(claims).where(mine).order_by(claims.c.claim_id).with_for_update()
        return {row.claim_id: read_claim(row) for row in await self._connection.execute(query)}

    async def lock_free(self, claim_ids: Collection[str]) -> FreeClaims:
        """Lock those of the claims that nobody holds, and wait for none."""
        mine = among(self._connection, claims.c.claim_id, claim_ids)
        query = select(claims).where(mine).order_by(claims.c.claim_id).with_for_update(skip_locked=True)
        rows = {row.claim_id: read_claim(row) for row in await self._connection.execute(query)}
        return FreeClaims(rows, await self._held([one for one in claim_ids if one not in rows]))

    async def _held(self, missing: Collection[str]) -> frozenset[str]:
        """Those of them that there are: somebody holds them; on SQLite one writes at a time anyway."""
        if not missing or self._connection.dialect.name != "postgresql":
            return frozenset()
        known = select(claims.c.claim_id).where(among(self._connection, claims.c.claim_id, missing))
        return frozenset(await self._connection.scalars(known))

    def locking(self, claim_ids: Collection[str]) -> Select[tuple[str]]:
        """The query that locks several claims, in their order."""
        these = select(claims.c.claim_id).where(among(self._connection, claims.c.claim_id, claim_ids))
        return these.order_by(claims.c.claim_id).with_for_update()

    async def save_all(self, rows: Iterable[ClaimRow]) -> None:
        """Keep claims that this transaction has locked and moved."""
        statement = update(claims).where(claims.c.claim_id == bindparam("of")).values(incident=null())
        saved = [{"of": row.claim_id} | {name: getattr(row, name) for name in _BY_SENDS} for row in rows]
        await self._connection.execute(statement, saved)

    async def add_all(self, rows: Iterable[ClaimRow]) -> None:
        """Create claims that are known to their process alone."""
        new = insert_into(self._connection, claims).on_conflict_do_nothing()
        names = ("claim_id", "created_at", *_BY_SENDS)
        await self._connection.execute(new, [{name: getattr(row, name) for name in names} for row in rows])

    async def was_handed_in(self, claim_id: str) -> bool:
        """Whether the claim came in with a file, also when that is not kept any more."""
        row = await self.find(claim_id)
        stored = select(claim_payloads.c.claim_id).where(claim_payloads.c.claim_id == claim_id)
        return (row is not None and row.content_hash is not None) or bool(
            await self._connection.scalar(stored)
        )

    async def all(self) -> Sequence[ClaimRow]:
        """Every claim, by id."""
        rows = await self._connection.execute(select(claims).order_by(claims.c.claim_id))
        return [read_claim(row) for row in rows]

    async def newest(self, wanted: Wanted, limit: int) -> Sequence[ClaimRow]:
        """The claims that came last, newest first."""
        query = select(claims).order_by(claims.c.created_at.desc(), claims.c.claim_id).limit(limit)
        if wanted.state:
            query = query.where(claims.c.state == wanted.state)
        if wanted.payer_id:
            query = query.where(claims.c.payer_id == wanted.payer_id)
        if wanted.with_incident:
            query = query.where(claims.c.incident.is_not(None))
        return [read_claim(row) for row in await self._connection.execute(query)]

    async def received(self, before: datetime, limit: int) -> Sequence[ClaimRow]:
        """Claims that came in before a moment and have not left yet, the longest waiting first."""
        waiting = (claims.c.state == ClaimState.RECEIVED) & (claims.c.updated_at < before)
        query = select(claims).where(waiting).order_by(claims.c.updated_at).limit(limit)
        return [read_claim(row) for row in await self._connection.execute(query)]

    async def of_batch(self, payer_ids: Sequence[str], batch_number: str) -> Sequence[ClaimRow]:
        """The claims that are a batch of this number to one of these payers, by id."""
        same = (claims.c.batch_number == batch_number) & claims.c.payer_id.in_(payer_ids)
        rows = await self._connection.execute(select(claims).where(same).order_by(claims.c.claim_id))
        return [read_claim(row) for row in rows]

    async def known_batches(self, payer_ids: Sequence[str], numbers: Collection[str]) -> set[str]:
        """Those of the batch numbers that claims at one of these payers have."""
        same = among(self._connection, claims.c.batch_number, numbers) & claims.c.payer_id.in_(payer_ids)
        return {*(await self._connection.scalars(select(claims.c.batch_number).where(same))).all()}

    async def touch_received(self, claim_id: str, *, now: datetime) -> None:
        """Note that a received claim was looked after, if it still waits."""
        mine = (claims.c.claim_id == claim_id) & (claims.c.state == ClaimState.RECEIVED)
        await self._connection.execute(update(claims).where(mine).values(updated_at=now))

    async def receive_all(self, arrivals: Iterable[tuple[Arrival, datetime]]) -> None:
        """Create claims that came in with their files, each at its moment."""
        rows = [
            row_of(arrival) | {"state": ClaimState.RECEIVED, "created_at": now, "updated_at": now}
            for arrival, now in arrivals
        ]
        for row in rows:
            del row["earlier_hash"]
        await self._connection.execute(insert(claims), rows)

    async def correct(self, claim_id: str, *, content_hash: str, batch_number: str) -> bool:
        """Note a corrected file; False when the claim is not in review any more."""
        mine = (claims.c.claim_id == claim_id) & (claims.c.state == ClaimState.IN_REVIEW)
        changes = {"content_hash": content_hash, "batch_number": batch_number}
        return (await self._connection.execute(update(claims).where(mine).values(changes))).rowcount == 1

    async def put(
        self, claim_id: str, payer_id: str, state: SendBeginning, *, now: datetime, **changes: object
    ) -> bool:
        """Create the claim as its send begins, or take it up again; False when it has ended."""
        known = (claims.c.claim_id == claim_id) & claims.c.state.in_(sorted(CLOSABLE))
        if await self._update(known, state, now=now, payer_id=payer_id, **changes):
            return True
        row = {"claim_id": claim_id, "payer_id": payer_id, "state": state} | changes
        new = insert_into(self._connection, claims).values(row | {"created_at": now, "updated_at": now})
        return (await self._connection.execute(new.on_conflict_do_nothing())).rowcount == 1

    async def disown(self, claim_id: str, process_instance_key: int) -> bool:
        """Forget a process that is gone; False when the claim is another's by now."""
        mine = (claims.c.claim_id == claim_id) & (claims.c.process_instance_key == process_instance_key)
        forgotten = update(claims).where(mine).values(process_instance_key=None)
        return (await self._connection.execute(forgotten)).rowcount == 1

    async def move(self, claim_id: str, state: ClaimState, *, now: datetime, **changes: object) -> bool:
        """Move a known claim to a state that may follow its own; False when it stays as it is."""
        return await self._move_from(predecessors(state), claim_id, state, now=now, **changes)

    async def close(self, claim_id: str, end: ClaimState, *, now: datetime, **changes: object) -> bool:
        """End a claim as a person decided; False when it stays as it is."""
        return await self._move_from(CLOSABLE | predecessors(end), claim_id, end, now=now, **changes)

    async def set_deadline(self, claim_id: str, deadline: datetime | None) -> None:
        """When the claim must be with its payer from now on; it stays where it is."""
        known = claims.c.claim_id == claim_id
        await self._connection.execute(update(claims).where(known).values(deadline=deadline))

    async def note_protocol(self, claim_id: str, protocol_number: str) -> None:
        """Keep the payer's number of a claim that stays where it is."""
        known = claims.c.claim_id == claim_id
        await self._connection.execute(update(claims).where(known).values(protocol_number=protocol_number))

    async def _move_from(
        self, allowed: Iterable[ClaimState], claim_id: str, state: ClaimState, **changes: Any
    ) -> bool:
        movable = (claims.c.claim_id == claim_id) & claims.c.state.in_(sorted(allowed))
        if await self._update(movable, state, **changes):
            return True
        await self._warn_if_kept(claim_id, state)
        return False

    async def move_all(self, moves: Iterable[Move]) -> None:
        """Move several claims at once; those that are not known here stay unknown, others' stay theirs.

        A claim that stays as it is does so without a warning, since only another statement could tell; its
        journal has the decision. Moves that no job in hand has made leave the claims' jobs as they are.
        """
        moved = list(moves)
        mine = (claims.c.claim_id == bindparam("to_claim_id")) & _DECIDED_BY_OWN
        statement = update(claims).where(mine, _DECIDABLE)
        values = _MOVED | (_BY_JOBS if any(move.job for move in moved) else {})
        await self._connection.execute(statement.values(values), [_move_row(move) for move in moved])

    async def _update(
        self, which: ColumnElement[bool], state: ClaimState, *, now: datetime, **changes: object
    ) -> bool:
        """A wait belongs to one state only: without a new one, `next_retry_time` is cleared.

        Whoever moves a claim shows that its process goes on: its incident is over.
        """
        values = {"state": state, "updated_at": now, "next_retry_time": None, "incident": None} | changes
        return (await self._connection.execute(update(claims).where(which).values(values))).rowcount == 1

    async def _warn_if_kept(self, claim_id: str, state: ClaimState) -> None:
        kept = await self._connection.scalar(select(claims.c.state).where(claims.c.claim_id == claim_id))
        if kept not in (None, state):
            log.warning("claim_state_kept", claim=claim_id, **{"from": kept, "to": state.value})


def _move_row(move: Move) -> dict[str, Any]:
    values = row_of(move) | job_columns(move.job)
    del values["job"]
    return {f"to_{name}": value for name, value in values.items()}


def read_claim(row: Row[Any]) -> ClaimRow:
    """A claim of a row that has all of its columns."""
    read = {"state": ClaimState(row.state), "incident": read_stuck_job(row.incident)}
    return ClaimRow(**(dict(row._mapping) | read))
