"""No hot query scans a table: what the database itself says it would do."""

import re
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from domain.payer_status import PayerStatus
from domain.slots import Slot, Wait
from persistence.claims import Wanted
from persistence.desk import Notice, Review
from persistence.idempotency import OperationKey, OperationStatus, Terms
from persistence.retention import AREAS, Periods
from persistence.store import Store, Transaction
from tests.contract.persistence.builders import CLAIM, NOW, draft, later

KEY = OperationKey("1", "Task", "submit_claim", {})
TERMS = Terms(lease=later(minutes=4) - NOW)
SMALL = {"audit_anchors", "audit_permits", "legal_holds", "leases", "policies", "error_statistics"}

Work = Callable[[Transaction], Awaitable[Any]]
HOT: dict[str, Work] = {
    "record": lambda tx: tx.ledger.record([draft()]),
    "attempts": lambda tx: tx.decisions.attempts(CLAIM),
    "count": lambda tx: tx.decisions.count(CLAIM),
    "pending": lambda tx: tx.decisions.pending(NOW),
    "audit of claim": lambda tx: tx.audit.of_claim(CLAIM),
    "audit page": lambda tx: tx.audit.page((CLAIM, 3), 10),
    "digest": lambda tx: tx.audit.digest(NOW, later(days=1)),
    "unpublished": lambda tx: tx.outbox.unpublished(10),
    "published": lambda tx: tx.outbox.published([1], now=NOW),
    "claim": lambda tx: tx.claims.find(CLAIM),
    "put": lambda tx: tx.claims.put(CLAIM, "p", ClaimState.FAILED, now=NOW),
    "received": lambda tx: tx.claims.received(NOW, 10),
    "newest": lambda tx: tx.claims.newest(Wanted(), 10),
    "newest in a state": lambda tx: tx.claims.newest(Wanted(ClaimState.FAILED), 10),
    "file": lambda tx: tx.payloads.find(CLAIM),
    "send of job": lambda tx: tx.attempts.of_job(7),
    "start": lambda tx: tx.attempts.start("CLM-0-0", 7, now=NOW),
    "answer lost": lambda tx: tx.attempts.answer_was_lost(CLAIM, before=3),
    "sends": lambda tx: tx.attempts.count(CLAIM),
    "reviews": lambda tx: tx.reviews.of_claim(CLAIM),
    "review of job": lambda tx: tx.reviews.of_job(7),
    "notices": lambda tx: tx.notices.of_claim(CLAIM),
    "story": lambda tx: tx.journal.of_claim(CLAIM),
    "news": lambda tx: tx.journal.since(5),
    "begin": lambda tx: tx.idempotency.begin(KEY, TERMS, now=NOW),
    "instance": lambda tx: tx.idempotency.find_by_process_instance("1"),
    "hanging": lambda tx: tx.idempotency.find_by_status_created_before(OperationStatus.PENDING, NOW),
    "lock payer": lambda tx: tx.payers.lock("p", now=NOW),
    "payer": lambda tx: tx.payers.find("p"),
    "save payer": lambda tx: tx.payers.save(PayerStatus("p", NOW)),
    "in flight": lambda tx: tx.payers.in_flight("p", now=NOW),
    "send ended": lambda tx: tx.payers.send_ended(CLAIM, 1),
    "wait of": lambda tx: tx.payers.wait_of(CLAIM),
    "release": lambda tx: tx.payers.release("CLM-0-0"),
    "waiting": lambda tx: tx.payers.waiting("p"),
    "count waiting": lambda tx: tx.payers.count_waiting("p"),
    "give slots": lambda tx: tx.payers.give_slots([Slot(CLAIM, NOW)]),
    "due": lambda tx: tx.payers.due("p", before=NOW, woken_before=NOW, limit=9),
    "most urgent": lambda tx: tx.payers.most_urgent("p", woken_before=NOW, limit=9),
    "woken": lambda tx: tx.payers.woken([CLAIM], now=NOW),
    "forget lost": lambda tx: tx.payers.forget_lost(before=NOW),
    "claimed protocol": lambda tx: tx.attempts.claimed_protocol(CLAIM),
    "expired": lambda tx: tx.idempotency.delete_expired(NOW, 10),
} | {
    f"remove {area.name}": lambda tx, area=area: tx.remains.remove(area, Periods(), now=NOW, limit=10)
    for area in AREAS
}  # fmt: skip


@asynccontextmanager
async def seen(database: AsyncEngine) -> Any:
    """The statements that a block sends, with their parameters."""
    statements: list[tuple[str, Any]] = []

    def note(_c: object, _cursor: object, statement: str, parameters: Any, _x: object, many: bool) -> None:
        statements.append((statement, parameters[0] if many else parameters))

    event.listen(database.sync_engine, "before_cursor_execute", note)
    yield statements
    event.remove(database.sync_engine, "before_cursor_execute", note)


def plan(connection: Connection, statement: str, parameters: Any) -> str:
    sqlite = connection.dialect.name == "sqlite"
    explain = f"EXPLAIN {'QUERY PLAN ' if sqlite else ''}{statement}"
    return "\n".join(str(row[-1]) for row in connection.exec_driver_sql(explain, parameters))


SCAN = re.compile(r"(?:SCAN|Seq Scan on) (\w+)\b(?! USING)")
WHOLE_INDEX = re.compile(r"Index (?:Only )?Scan (?:Backward )?using (\w+) on [^\n]*(?:\n(?!.*Index Cond)|$)")
READ_IN_ORDER = {"ix_outbox_unpublished", "ix_claims_created_at", "pk_audit_anchors"}


def scans(steps: str) -> set[str]:
    """Tables and indexes read from one end to the other, small ones aside."""
    return (set(SCAN.findall(steps)) | set(WHOLE_INDEX.findall(steps))) - SMALL - READ_IN_ORDER


@pytest.fixture
async def filled(store: Store, database: AsyncEngine) -> Store:
    for n in range(5):
        await store.record(draft(f"CLM-9-{n}"))
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "p", ClaimState.FAILED, now=NOW)
        await tx.attempts.start(CLAIM, 1, now=NOW)
        await tx.reviews.open(Review(CLAIM, 0, "x", None), job_key=1, now=NOW)
        await tx.notices.record(Notice(CLAIM, "x", "x"), job_key=1, now=NOW)
        await tx.idempotency.begin(KEY, TERMS, now=NOW)
        await tx.payers.hold(Wait(CLAIM, "p", NOW, NOW))
        await tx.payers.send_began(CLAIM, 1, "p", until=NOW)
    return store


async def asked(store: Store, database: AsyncEngine, work: Work) -> list[tuple[str, Any]]:
    async with seen(database) as statements, store.transaction() as tx:
        await work(tx)
    return [(s, p) for s, p in statements if s.lstrip().startswith(("SELECT", "UPDATE", "DELETE"))]


async def test_no_hot_query_scans_a_table(filled: Store, database: AsyncEngine) -> None:
    questions = {name: await asked(filled, database, work) for name, work in HOT.items()}
    assert all(questions.values())
    bad: dict[str, str] = {}
    async with database.begin() as connection:
        if database.dialect.name == "postgresql":  # these tables are tiny; would it use an index if not?
            await connection.execute(text("SET LOCAL enable_seqscan = off"))
        for name, statements in questions.items():
            for statement, parameters in statements:
                steps = await connection.run_sync(plan, statement, parameters)
                bad |= {f"{name}: {statement}": steps} if scans(steps) else {}
    assert bad == {}
