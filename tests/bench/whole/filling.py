"""Databases as full as after months: claims that were really sent, copied under other names.

A copy differs in one character of every name that must be unique: the one at the place of its doubling, which
becomes a mark that no name of ours has. Tables and columns are asked of the database, so that any revision's
can be filled.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, DateTime, Integer, inspect, text
from sqlalchemy.ext.asyncio import create_async_engine

from tests.bench.whole.stage import OTHER_PAYER

MARK = "~"
NAMES = {"claim_id": 4, "batch_number": 0, "guide_hash": 0, "idempotency_key": 0, "event_id": 0}
"""Columns of names that must differ, and how many characters at their beginning stay."""
OF_FINISHED = (
    "idempotency_records",
    "submission_attempts",
    "audit_events",
    "outbox",
    "claim_events",
    "claim_guides",
    "claim_payloads",
    "claims",
)
"""What a claim leaves in the database by the time it has its protocol; the claims come last."""
OF_WAITING = ("claim_events", "claim_guides", "claim_payloads", "claims")
EARLIER_SECONDS = 3600
SHIFTS = {
    "sqlite": "datetime({}, '-{} seconds') || '.000000'",
    "postgresql": "{} - interval '{} seconds'",
}
AHEAD = {"sqlite": "datetime('now', '+9 hours') || '.000000'", "postgresql": "now() + interval '9 hours'"}


@dataclass(frozen=True, slots=True)
class Doubling:
    """One step: so many claims copied, all marked at the same place."""

    place: int
    claims: int


def doublings(have: int, size: int) -> Sequence[Doubling]:
    """The steps from so many claims to a size; the last copies only what is missing."""
    steps: list[Doubling] = []
    while have < size:
        steps.append(Doubling(len(steps) + 1, min(have, size - have)))
        have += steps[-1].claims
    return steps


async def store(url: str, have: int, size: int) -> None:
    """Let a database with some finished claims have so many."""
    await grow(url, OF_FINISHED, doublings(have, size))


async def hold(url: str, have: int, size: int) -> None:
    """Add so many claims that wait for the other payer, whose breaker is held."""
    await grow(url, OF_WAITING, doublings(have, have + size), waiting=True)


async def grow(url: str, tables: Iterable[str], steps: Sequence[Doubling], *, waiting: bool = False) -> None:
    engine = create_async_engine(url)
    async with engine.begin() as connection:
        dialect = engine.dialect.name
        if dialect == "sqlite":
            await connection.execute(text("PRAGMA cache_size=-500000"))
        copies = await connection.run_sync(_copies, tuple(tables), steps)
        for statement in (*copies, *(_waiting(dialect) if waiting else ())):
            await connection.execute(text(statement))
    async with engine.connect() as opened:
        tidy = await opened.execution_options(isolation_level="AUTOCOMMIT")
        for statement in ("VACUUM ANALYZE", "CHECKPOINT") if dialect == "postgresql" else ("ANALYZE",):
            await tidy.execute(text(statement))
    await asyncio.wait_for(engine.dispose(), 60)


def _copies(connection: Connection, tables: Sequence[str], steps: Sequence[Doubling]) -> list[str]:
    shift = SHIFTS[connection.dialect.name]
    return [_copy(connection, table, step, shift) for step in steps for table in tables]


def _copy(connection: Connection, table: str, step: Doubling, shift: str) -> str:
    looked_up = inspect(connection)
    counted = looked_up.get_pk_constraint(table)["constrained_columns"]
    columns = {column["name"]: column["type"] for column in looked_up.get_columns(table)}
    if len(counted) == 1 and isinstance(columns[counted[0]], Integer):
        del columns[counted[0]]
    changed = {name: marked(name, step.place) for name in columns if name in NAMES}
    times = (name for name, kind in columns.items() if isinstance(kind, DateTime))
    changed |= {name: shift.format(name, EARLIER_SECONDS * 2 ** (step.place - 1)) for name in times}
    return _insert(table, columns, changed, step.claims)


def _insert(table: str, columns: Iterable[str], changed: Mapping[str, str], claims: int) -> str:
    names, values = ", ".join(columns), ", ".join(changed.get(name, name) for name in columns)
    some = f"SELECT claim_id FROM claims ORDER BY claim_id LIMIT {claims}"  # noqa: S608  # a number
    which = f"WHERE claim_id IN ({some})" if "claim_id" in changed else f"ORDER BY id LIMIT {claims}"
    return f"INSERT INTO {table} ({names}) SELECT {values} FROM {table} {which}"  # noqa: S608  # our own names


def marked(name: str, place: int) -> str:
    """The column's value with the mark at a place."""
    at = NAMES[name] + place
    return f"substr({name}, 1, {at - 1}) || '{MARK}' || substr({name}, {at + 1})"


def _waiting(dialect: str) -> tuple[str, ...]:
    copied = f"claim_id LIKE '%{MARK}%'"
    return (
        f"UPDATE claim_guides SET payer_id = '{OTHER_PAYER}' WHERE {copied}",  # noqa: S608
        f"UPDATE claims SET state = 'WAITING', protocol_number = NULL, payer_id = '{OTHER_PAYER}' "  # noqa: S608
        f"WHERE {copied}",
        "INSERT INTO payer_waits (claim_id, payer_id, since, until, deadline) "  # noqa: S608
        f"SELECT claim_id, payer_id, created_at, {AHEAD[dialect]}, deadline FROM claims WHERE {copied}",
    )
