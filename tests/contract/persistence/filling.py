"""Plausible rows for every table, so that migrations and query plans meet what they meet in use."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Column, Connection, MetaData, Table, Text, func, insert, inspect, select, table

from tests.support.builders import NOW

VERSIONS = "alembic_version"
APART = timedelta(hours=18)
"""How far rows lie apart: three thousand cover six years, more than anything is kept."""
RARE_MAIL_STATES = ("PENDING", "FAILED")
RARE_STATES = ("WAITING", "FAILED", "IN_REVIEW", "CANCELLED")
SPECIAL: Mapping[str, Callable[[int], object]] = {
    "claim_id": lambda n: f"CLM-9-{n}",
    "payer_id": lambda n: f"p{n % 50}",
    "payer_status.payer_id": lambda n: f"p{n}",
    "payer_status.state": lambda _: "CLOSED",
    "claims.state": lambda n: "ACCEPTED" if n % 50 else RARE_STATES[n // 50 % 4],
    "claims.incident": lambda _: None,
    "idempotency_records.status": lambda n: "SUCCESS" if n % 10 else "PENDING",
    "outbox.published_at": lambda n: NOW - n * APART if n % 100 else None,
    "mails.state": lambda n: "SENT" if n % 50 else RARE_MAIL_STATES[n // 50 % 2],
    "mails.published_at": lambda n: NOW - n * APART if n % 100 else None,
    "mails.dead_lettered_at": lambda n: NOW - n * APART if n % 500 else None,
    "dead_letters.failed_attempts": lambda n: n + 1,
    "submission_attempts.result": lambda n: None if n % 20 else {"complete": {}},
    "retry_decisions.cause": lambda n: None if n % 20 else "RETRIES",
    "first_rounds.given_up": lambda n: None if n % 20 else "RETRIES",
    "kpi_snapshots.kpi": lambda _: "success_after_retry",
    "kpi_snapshots.frequency": lambda n: "week" if n % 2 else "day",
    "bulk_orders.state": lambda n: "DONE" if n % 100 else "RUNNING",
    "bulk_orders.action": lambda _: "RESEND",
    "adopted_policies.kind": lambda _: "ADOPTED",
    "bulk_items.bulk_id": lambda n: n // 20,
    "bulk_items.state": lambda n: "DONE" if n % 100 else "PENDING",
    "bulk_items.why": lambda _: None,
    "audit_anchors.day": lambda n: (NOW - timedelta(days=2_000 + n)).date(),
}
USUAL: Mapping[type, Callable[[int], object]] = {
    str: lambda n: f"v{n}",
    int: lambda n: n,
    bool: lambda n: n % 2 == 0,
    datetime: lambda n: NOW - n * APART,
    date: lambda n: (NOW - n * APART).date(),
    object: lambda n: {"n": n},  # JSON
}


def tables(connection: Connection) -> Sequence[Table]:
    """The tables as they are, whatever the code says; Alembic's own aside."""
    present = MetaData()
    present.reflect(connection)
    return [one for one in present.sorted_tables if one.name != VERSIONS]


def fill(connection: Connection, into: Table, numbers: Iterable[int]) -> None:
    """Put one row for each number into a table."""
    columns = [column for column in into.columns if not _counts_by_itself(column)]
    rows = [{column.key: _value(column, n) for column in columns} for n in numbers]
    connection.execute(insert(into), rows)


def counts(connection: Connection) -> dict[str, int]:
    """How many rows each table has."""
    names = set(inspect(connection).get_table_names()) - {VERSIONS}
    return {name: connection.scalar(select(func.count()).select_from(table(name))) or 0 for name in names}


def _counts_by_itself(column: Column[Any]) -> bool:
    return column is column.table.autoincrement_column or column.server_default is not None


def _long_text(n: int) -> str:
    return f"v{n} ".ljust(400, "x")


def _value(column: Column[Any], n: int) -> object:
    kind = getattr(column.type, "impl_instance", column.type)
    usual = _long_text if isinstance(kind, Text) else USUAL[kind.python_type]
    return SPECIAL.get(f"{column.table.name}.{column.name}", SPECIAL.get(column.name, usual))(n)
