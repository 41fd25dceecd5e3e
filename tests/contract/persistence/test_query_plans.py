"""No hot query reads a table or an index from end to end: what the database says of thousands of rows."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.access import Role
from domain.claim_state import ClaimState
from domain.kpis.definitions import KpiName
from domain.kpis.periods import Frequency, Span, day_of
from domain.kpis.rounds import NumberedSend
from domain.mail.limits import MailMeter
from domain.payer_status import PayerStatus
from domain.retention import Periods
from domain.slots import Slot
from domain.standing import HeldJob, Late, StandingKind
from persistence.audit.rejections import Rejection
from persistence.repositories.claim_lists import (
    AskedPage,
    ClaimFilter,
    ListedState,
    ListOrder,
    ListPlace,
)
from persistence.repositories.claims import ClaimRow, Wanted
from persistence.repositories.dead_letters import LetterPlace, WantedLetters
from persistence.repositories.first_rounds import TakenSend
from persistence.repositories.guides import SoughtGuides
from persistence.repositories.idempotency import OperationKey, OperationStatus, OperationTerms
from persistence.repositories.mail_limits import AskedTraffic
from persistence.repositories.people_sessions import NewSession
from persistence.repositories.review_desk import INCIDENT, DeskFilter, DeskPlace
from persistence.repositories.standstills import LatePage, RestingJob
from persistence.retention import AREAS
from persistence.store import Store, Transaction
from persistence.tables import metadata
from tests.contract.persistence.filling import fill
from tests.support.builders import NOW, draft, later
from tests.support.mails import a_mail

CLAIM = "CLM-9-1000"
LONG_AGO = later(days=-2_200)
HASHES = {f"v{n}": frozenset({"v7", "v8"}) for n in range(3_000)}
SOUGHT = SoughtGuides(CLAIM, ["p7", "p8"], {"v7": frozenset({"v7", "v8"}), "k": frozenset({"x"})})
ELSEWHERE = SoughtGuides(CLAIM, ["p7"], HASHES, frozenset({"p1"}))
ROW = ClaimRow(CLAIM, "p", ClaimState.FAILED, 0, None, None, None, NOW)
KEY = OperationKey("1", "Task", "submit_claim", {})
REJECTION = Rejection(7, 1, CLAIM, "RN-BIL-004", "BIL-004-V5", "Variable retryCount", NOW)
A_DAY = day_of(NOW.date(), UTC)
TAKEN = TakenSend(CLAIM, (NumberedSend(1, LONG_AGO), NumberedSend(2, later(days=1))), later(days=2))
SESSION = NewSession("new", 7, "csrf", later(hours=8))
GROUP = DeskFilter(team="v7", reason="PERMANENT_ERROR", category="v7", entry="v7", payer_id="p7")
TERMS = OperationTerms(lease=later(minutes=4) - NOW)
SMALL = {
    "audit_anchors", "audit_permits", "legal_holds", "leases", "mail_lanes", "policies", "error_statistics",
    "upkeep_runs",
    "standing_still",
}  # fmt: skip

TRAFFIC = AskedTraffic(("v7", "v8"), "v7", NOW, timedelta(minutes=5))

Work = Callable[[Transaction], Awaitable[Any]]
HOT: dict[str, Work] = {
    "record": lambda tx: tx.decision_log.record([draft(CLAIM)]),
    "decisions": lambda tx: tx.decisions.of_claims([CLAIM]),
    "count": lambda tx: tx.decisions.count(CLAIM),
    "pending": lambda tx: tx.decisions.pending(later(days=-1)),
    "pending elsewhere": lambda tx: tx.decisions.pending(later(days=-1)),
    "rejection": lambda tx: tx.rejections.keep(REJECTION),
    "give up": lambda tx: tx.decision_log.record([draft(CLAIM, count=5)]),
    "audit of claim": lambda tx: tx.audit.of_claim(CLAIM),
    "audit page": lambda tx: tx.audit.page((CLAIM, 3), 10),
    "digest": lambda tx: tx.audit.digest(NOW, later(days=1)),
    "unpublished": lambda tx: tx.outbox.unpublished(10),
    "published": lambda tx: tx.outbox.published([1], now=NOW),
    "lag": lambda tx: tx.outbox.lag(),
    "claim": lambda tx: tx.claims.find(CLAIM),
    "put": lambda tx: tx.claims.put(CLAIM, "p", ClaimState.FAILED, now=NOW),
    "lock claim": lambda tx: tx.claims.lock(CLAIM),
    "save claims": lambda tx: tx.claims.save_all([ROW]),
    "disown": lambda tx: tx.claims.disown(CLAIM, 1),
    "received": lambda tx: tx.claims.received(NOW, 10),
    "newest": lambda tx: tx.claims.newest(Wanted(), 10),
    "newest in a state": lambda tx: tx.claims.newest(Wanted(ClaimState.FAILED), 10),
    "newest of a payer": lambda tx: tx.claims.newest(Wanted(payer_id="p7"), 10),
    "newest of both": lambda tx: tx.claims.newest(Wanted(ClaimState.FAILED, "p7"), 10),
    "batch": lambda tx: tx.claims.of_batch(["p7"], "77"),
    "guides": lambda tx: tx.guides.holders(SOUGHT),
    "guides known": lambda tx: tx.guides.all_known(SOUGHT),
    "guides under earlier names": lambda tx: tx.guides.all_known(ELSEWHERE),
    "file": lambda tx: tx.payloads.find(CLAIM),
    "send of job": lambda tx: tx.attempts.of_job(7, CLAIM),
    "start": lambda tx: tx.attempts.start("CLM-0-0", 7, now=NOW),
    "histories": lambda tx: tx.attempts.histories([CLAIM, "CLM-0-0"]),
    "sends": lambda tx: tx.attempts.count(CLAIM),
    "undo": lambda tx: tx.attempts.undo(CLAIM, before=3, now=NOW),
    "lock claims": lambda tx: tx.claims.lock_all([CLAIM, "CLM-0-0"]),
    "lock free claims": lambda tx: tx.claims.lock_free([CLAIM, "CLM-0-0"]),
    "files": lambda tx: tx.payloads.find_all([CLAIM, "CLM-0-0"]),
    "known operations": lambda tx: tx.idempotency.known([KEY.text, "other"], TERMS, now=NOW),
    "sends under way": lambda tx: tx.payers.sends_under_way([CLAIM, "CLM-0-0"], now=NOW),
    "sends ended": lambda tx: tx.payers.sends_ended([(CLAIM, 1), (CLAIM, 2)]),
    "waits of": lambda tx: tx.payers.waits_of([CLAIM, "CLM-0-0"]),
    "release several": lambda tx: tx.payers.release_all([CLAIM, "CLM-0-0"]),
    "reviews": lambda tx: tx.reviews.of_claim(CLAIM),
    "teams": lambda tx: tx.reviews.teams([CLAIM, "CLM-0-0"]),
    "last review": lambda tx: tx.reviews.last_job(CLAIM),
    "review of job": lambda tx: tx.reviews.of_job(7, CLAIM),
    "notices": lambda tx: tx.notices.of_claim(CLAIM),
    "story": lambda tx: tx.journal.of_claim(CLAIM),
    "news": lambda tx: tx.journal.since(5),
    "begin": lambda tx: tx.idempotency.begin(KEY, TERMS, now=NOW),
    "instance": lambda tx: tx.idempotency.find_by_process_instance("1"),
    "hanging": lambda tx: tx.idempotency.find_by_status_created_before(OperationStatus.PENDING, LONG_AGO),
    "send under way": lambda tx: tx.payers.send_under_way(CLAIM, now=NOW),
    "lock payer": lambda tx: tx.payers.lock("p", now=NOW),
    "payer": lambda tx: tx.payers.find("p"),
    "save payer": lambda tx: tx.payers.save(PayerStatus("p", NOW)),
    "in flight": lambda tx: tx.payers.in_flight("p", now=NOW),
    "send ended": lambda tx: tx.payers.send_ended(CLAIM, 1),
    "wait of": lambda tx: tx.payers.wait_of(CLAIM),
    "release": lambda tx: tx.payers.release("CLM-0-0"),
    "count waiting": lambda tx: tx.payers.count_waiting("p"),
    "give slots": lambda tx: tx.payers.give_slots([Slot(CLAIM, NOW)], now=NOW),
    "next waiting": lambda tx: tx.payers.next_waiting(PayerStatus("p", NOW), lost_before=NOW, limit=9),
    "late": lambda tx: tx.payers.count_late(PayerStatus("p", NOW), LONG_AGO, NOW),
    "forget lost": lambda tx: tx.payers.forget_lost(before=LONG_AGO, limit=10),
    "lanes with mail": lambda tx: tx.mail_lanes.known(),
    "lane of a company": lambda tx: tx.mail_lanes.assign("v7", 64, now=NOW),
    "lock paces and mails under way": lambda tx: tx.mail_paces.lock(TRAFFIC),
    "paces and mails under way": lambda tx: tx.mail_paces.look(TRAFFIC),
    "save paces": lambda tx: tx.mail_paces.save(MailMeter("v7", NOW), MailMeter("v8", NOW)),
    "forget paces": lambda tx: tx.mail_paces.forget(before=LONG_AGO, limit=10),
    "sharers of lanes": lambda tx: tx.mail_lanes.sharers(),
    "forget figures of turns": lambda tx: tx.tenant_figures.forget(before=LONG_AGO),
    "claimed protocol": lambda tx: tx.attempts.claimed_protocol(CLAIM),
    "expired": lambda tx: tx.idempotency.delete_expired(NOW, 10),
    "mail": lambda tx: tx.mails.find("v7"),
    "lock mail": lambda tx: tx.mails.lock("v7"),
    "save mail": lambda tx: tx.mails.save(a_mail()),
    "what stands no more": lambda tx: tx.standstills.gone(LONG_AGO, 10),
    "known standing": lambda tx: tx.standstills.lock(StandingKind.JOB, [CLAIM, "CLM-0-0"]),
    "last move": lambda tx: tx.standstills.last_move(NOW),
    "standing of claims": lambda tx: tx.standstills.of_claims([CLAIM, "CLM-0-0"]),
    "mails not started": lambda tx: tx.mails.not_started(NOW, 10),
    "mails overdue": lambda tx: tx.mails.overdue(LONG_AGO, 10),
    "mails out of hands": lambda tx: tx.mails.out_of_hands(LONG_AGO, 10),
    "mails started": lambda tx: tx.mails.started(["v7", "v8"], now=NOW),
    "mails without room": lambda tx: tx.mails.without_room(10),
    "states of mails": lambda tx: tx.mails.states(["v7", "v8"]),
    "dead letters to redrive": lambda tx: tx.dead_letters.to_redrive(
        WantedLetters(code="v7"), failed_before=LONG_AGO
    ),
    "dead letters on their way": lambda tx: tx.dead_letters.count(WantedLetters(code="v7", on_its_way=True)),
    "dead letter": lambda tx: tx.dead_letters.find("v7"),
    "dead letters": lambda tx: tx.dead_letters.list(limit=10),
    "next dead letters": lambda tx: tx.dead_letters.list(limit=10, after=LetterPlace(LONG_AGO, "v7")),
    "dead letters of a code": lambda tx: tx.dead_letters.list(WantedLetters(code="v7"), limit=10),
    "dead letters of a company": lambda tx: tx.dead_letters.list(WantedLetters(company_id="v7"), limit=10),
    "oldest dead letter": lambda tx: tx.dead_letters.oldest(),
    "remove dead letters": lambda tx: tx.dead_letters.remove(["v7", "v8"]),
    "first round": lambda tx: tx.first_rounds.find(CLAIM),
    "first rounds taken": lambda tx: tx.first_rounds.take_all([TAKEN]),
    "acceptance cancelled": lambda tx: tx.first_rounds.forget_acceptance(CLAIM),
    "first rounds made anew": lambda tx: tx.first_rounds.rebuild([CLAIM]),
    "first rounds unnoticed": lambda tx: tx.first_rounds.unnoticed(later(days=-8), 10),
    "first rounds missing": lambda tx: tx.first_rounds.missing(later(days=-8), -1, 10),
    "kpis of a day": lambda tx: tx.kpis.counted(A_DAY),
    "kpis of a payer": lambda tx: tx.kpis.counted(A_DAY, "p7"),
    "kpis by payer": lambda tx: tx.kpis.by_payer(A_DAY),
    "a job that rests": lambda tx: tx.standstills.rests(RestingJob(CLAIM, 7, HeldJob(7, 3, NOW))),
    "last upkeep": lambda tx: tx.upkeep_runs.last(),
    "newest adoption": lambda tx: tx.adopted_policies.newest_id(),
    "policy in force": lambda tx: tx.adopted_policies.newest(),
    "claims to play": lambda tx: tx.past_claims.newest(20),
    "last snapshot": lambda tx: tx.kpi_snapshots.last_taken_at(now=NOW),
    "latest kpis": lambda tx: tx.kpi_snapshots.latest(now=NOW),
    "permanent errors": lambda tx: tx.control_reports.permanent(A_DAY, 10),
    "exhausted claims": lambda tx: tx.control_reports.exhausted(A_DAY, 10),
    "failures by category": lambda tx: tx.control_reports.by_category(A_DAY),
    "failures by payer": lambda tx: tx.control_reports.by_payer(A_DAY),
    "retries needed": lambda tx: tx.control_reports.retries_needed(A_DAY),
    "expired dead letters": lambda tx: tx.dead_letters.expired(LONG_AGO, 10),
    "open claims": lambda tx: tx.figures.claims_in([ClaimState.SUBMITTING, ClaimState.FAILED]),
    "first rounds of late": lambda tx: tx.kpis.tally(Span(later(days=-1), NOW)),
    "new orders": lambda tx: tx.orders.newest(10),
    "incidents of a payer": lambda tx: tx.incidents.count("p"),
    "open incidents": lambda tx: tx.incidents.by_type(),
    "payers' figures": lambda tx: tx.figures.payers(NOW),
    "waiting mail": lambda tx: tx.mails.pending(NOW),
    "mails of late": lambda tx: tx.figures.mails_since(later(days=-1)),
    "companies by mail": lambda tx: tx.figures.mails_by_company(later(days=-7), 20),
    "ages of dead letters": lambda tx: tx.figures.letter_ages(NOW, [LONG_AGO, NOW]),
    "retries of late": lambda tx: tx.figures.scheduled_retries(later(days=-1), 10),
    "schedules": lambda tx: tx.policies.schedules(["v7"]),
    "reviews by cause": lambda tx: tx.overview.in_review(),
    "claims on incidents": lambda tx: tx.overview.on_incidents(),
    "coming sends": lambda tx: tx.overview.coming([NOW, later(hours=1)]),
    "claims on their way": lambda tx: tx.overview.going([ClaimState.RECEIVED, ClaimState.FAILED]),
    "kpis of a month": lambda tx: tx.kpi_snapshots.since(later(days=-30).date()),
    "orders about a claim": lambda tx: tx.orders.about_claim(CLAIM),
    "seal of a claim": lambda tx: tx.audit.seal_of(CLAIM),
    "policies of decisions": lambda tx: tx.policies.by_version(["v7"]),
    "person": lambda tx: tx.people.find("v7"),
    "person of a provider": lambda tx: tx.people.find_provided("v7", "v7"),
    "payers' moves": lambda tx: tx.payer_traffic.moves(later(days=-7)),
    "a payer's moves": lambda tx: tx.payer_traffic.moves(later(days=-7), "p7"),
    "answers of late": lambda tx: tx.payer_traffic.answers(later(days=-1), NOW),
    "failures of a payer": lambda tx: tx.payer_traffic.failures(later(days=-1), "p7"),
    "slots of a payer": lambda tx: tx.payer_traffic.with_slot("p7"),
    "orders about a payer": lambda tx: tx.orders.about_payer("p7", 10),
    "mails of reports": lambda tx: tx.mails.find_all(["v7", "v8"]),
    "number without room": lambda tx: tx.mails.count_without_room(),
    "entries of dead letters": lambda tx: tx.letter_entries.since(WantedLetters(), later(days=1)),
    "pending mails": lambda tx: tx.mails.pending(NOW),
    "codes of dead letters": lambda tx: tx.dead_letters.by_code(),
    "marks of dead letters": lambda tx: tx.dead_letters.marks(["v7", "v8"]),
    "companies of dead letters": lambda tx: tx.dead_letters.by_company(),
    "kpis of a period": lambda tx: tx.kpi_snapshots.of_period(Frequency.DAILY, NOW.date()),
    "claims behind a kpi": lambda tx: tx.kpis.behind(KpiName.EXHAUSTED, A_DAY, None, 10),
    "claims behind a payer's kpi": lambda tx: tx.kpis.behind(KpiName.EXHAUSTED, A_DAY, "p7", 10),
    "a trail's end": lambda tx: tx.audit.trail_of(CLAIM, 10),
    "roles": lambda tx: tx.people.set_roles(7, {Role.VIEWER}),
    "session": lambda tx: tx.people_sessions.find("v7", now=LONG_AGO),
    "session begins": lambda tx: tx.people_sessions.begin(SESSION, now=LONG_AGO),
    "session seen": lambda tx: tx.people_sessions.seen("v7", now=NOW),
    "sessions end": lambda tx: tx.people_sessions.end_all(7),
    "link": lambda tx: tx.people_sessions.spend_link("v7", now=LONG_AGO),
    "refusals taken": lambda tx: tx.login_trials.take("v7", since=LONG_AGO),
    "login tried": lambda tx: tx.login_trials.count(["v7"], now=NOW, since=LONG_AGO),
    "claims held": lambda tx: tx.overview.held(),
    "review groups": lambda tx: tx.review_desk.groups(),
    "incidents by payer": lambda tx: tx.review_desk.incidents(),
    "group, first page": lambda tx: tx.review_desk.page(GROUP, 50, None),
    "group, next": lambda tx: tx.review_desk.page(GROUP, 50, DeskPlace(LONG_AGO, CLAIM)),
    "group's number": lambda tx: tx.review_desk.count(GROUP),
    "group as a whole": lambda tx: tx.review_desk.selected(GROUP, 10_001),
    "incidents as a whole": lambda tx: tx.review_desk.selected(DeskFilter(reason=INCIDENT), 10_001),
    "some by their ids": lambda tx: tx.review_desk.selected(DeskFilter(claim_ids=frozenset({CLAIM})), 101),
    "claim's hold": lambda tx: tx.holds.find(CLAIM),
    "claim's texts": lambda tx: tx.free_texts.count(CLAIM),
    "another deadline": lambda tx: tx.claims.set_deadline(CLAIM, LONG_AGO),
    "another deadline of a wait": lambda tx: tx.payers.set_deadline(CLAIM, LONG_AGO),
    "open review": lambda tx: tx.review_desk.open_review(CLAIM),
    "assignees": lambda tx: tx.review_desk.assignees([CLAIM]),
    "orders going on": lambda tx: tx.bulk_orders.going_on(),
    "newest orders about many": lambda tx: tx.bulk_orders.newest(50),
    "next items": lambda tx: tx.bulk_orders.take(7, now=NOW, limit=16),
    "items left": lambda tx: tx.bulk_orders.open_claims(7),
    "progress": lambda tx: tx.bulk_orders.progress(7),
    "login forgiven": lambda tx: tx.login_trials.forgive(["v7", "v8"], since=LONG_AGO),
} | {
    f"list {name}, {page}": lambda tx, wanted=wanted, order=order, after=after: tx.claim_lists.page(
        wanted, AskedPage(order, 50, after)
    )
    for name, wanted, order in (
        ("newest", ClaimFilter(), ListOrder.NEWEST),
        ("in review", ClaimFilter(ListedState.REVIEW), ListOrder.NEWEST),
        ("of a team", ClaimFilter(ListedState.REVIEW, team="v7"), ListOrder.NEWEST),
        ("of a cause", ClaimFilter(ListedState.REVIEW, category="v7"), ListOrder.NEWEST),
        ("of a kind of error", ClaimFilter(category="v7"), ListOrder.NEWEST),
        ("held", ClaimFilter(ListedState.HELD), ListOrder.NEWEST),
        ("on incidents", ClaimFilter(ListedState.INCIDENT), ListOrder.NEWEST),
        ("of a payer", ClaimFilter(payer_id="p7"), ListOrder.NEWEST),
        ("by text", ClaimFilter(text="v7"), ListOrder.NEWEST),
        ("by deadline", ClaimFilter(), ListOrder.DEADLINE),
        ("at risk", ClaimFilter(due_before=LONG_AGO), ListOrder.DEADLINE),
    )
    for page, after in (("first page", None), ("next", ListPlace(LONG_AGO, CLAIM)))
} | {
    f"remove {area.name}": lambda tx, area=area: tx.expired.remove(area, Periods(), now=NOW, limit=10)
    for area in AREAS
} | {
    f"late {kind}, {page}": lambda tx, kind=kind, after=after: tx.standstills.late(
        LatePage(kind, LONG_AGO, after(kind), 10)
    )
    for kind in StandingKind
    for page, after in (("first page", lambda _: None), ("next", lambda kind: Late(kind, CLAIM, LONG_AGO)))
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
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        return "\n".join(str(row[-1]) for row in rows)
    return json.dumps(connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalar())


SCAN = re.compile(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?")
READ_IN_ORDER = {
    "unpublished": {"ix_outbox_unpublished"},
    "lag": {"ix_outbox_unpublished"},
    "newest": {"ix_claims_created_at"},
    "mails not started": {"ix_mails_not_started"},
    "mails without room": {"ix_mails_no_room"},
    "dead letters": {"ix_dead_letters_moved_at"},
    "oldest dead letter": {"ix_dead_letters_moved_at"},
    "payers' figures": {"payer_status", "pk_payer_status", "sqlite_autoindex_payer_status_1"},
    "new orders": {"operator_orders", "pk_operator_orders"},
    "incidents of a payer": {"ix_claims_incident"},
    "open incidents": {"ix_claims_incident"},
    "waiting mail": {"ix_mails_waiting", "ix_mails_expires_at"},
    "sharers of lanes": {"ix_mails_waiting", "ix_mails_expires_at"},
    "ages of dead letters": {"ix_dead_letters_moved_at", "dead_letters"},
    "list newest, first page": {"ix_claims_created_at"},
    "list newest, next": {"ix_claims_created_at"},
    "list by deadline, first page": {"ix_claims_deadline", "ix_claims_created_at"},
    "list by deadline, next": {"ix_claims_deadline", "ix_claims_created_at"},
    "claims held": {"payer_waits", "payer_status"},
    "incidents by payer": {"ix_claims_incident"},
    "incidents as a whole": {"ix_claims_incident"},
    "orders going on": {"ix_bulk_orders_state", "bulk_orders", "pk_bulk_orders"},
    "newest orders about many": {"bulk_orders", "pk_bulk_orders"},
    "newest adoption": {"adopted_policies", "pk_adopted_policies"},
    "policy in force": {"adopted_policies", "pk_adopted_policies"},
    "claims to play": {"ix_claims_created_at"},
    "remove who has which review": {"review_assignees"},  # so narrow that a few pages hold all of them
    "claims on incidents": {"ix_claims_incident"},
    "list on incidents, first page": {"ix_claims_incident"},
    "list on incidents, next": {"ix_claims_incident"},
    "open claims": {"ix_claims_deadline"},
    "claims on their way": {"ix_claims_deadline"},
    "late job, first page": {"ix_claims_deadline"},
    "late job, next": {"ix_claims_deadline"},
    "coming sends": {"payer_waits"},
    "list held, first page": {"payer_waits"},
    "list held, next": {"payer_waits"},
    "list by text, first page": {"anon_1", "anon_2", "anon_3"},  # the few that three indexes have found
    "list by text, next": {"anon_1", "anon_2", "anon_3"},
    "payers' moves": {"ix_outbox_payer_changes"},
    "a payer's moves": {"ix_outbox_payer_changes"},
    "number without room": {"ix_mails_no_room"},
    "entries of dead letters": {"outbox", "pk_outbox", "ix_mails_no_room"},  # from the newest fact backwards
    "pending mails": {"ix_mails_waiting", "ix_mails_expires_at", "ix_mails_not_started"},
    "codes of dead letters": {"ix_dead_letters_code", "dead_letters"},
    "companies of dead letters": {"ix_dead_letters_company_id", "dead_letters"},
    "kpis by payer": {"anon_1"},  # the rows of its day, which an index has found
}
"""Indexes that may be read from their end: they hold nothing else, or the query stops after a few rows.

There are as many payers as a hospital has, and 10,000 dead letters at most; `ix_claims_deadline` holds open
claims, `ix_claims_incident` those on an incident, `payer_waits` those that wait for their payer: no other.
"""
INDEXES = {
    "pending": "ix_claims_state",
    "pending elsewhere": "ix_retry_decisions_next_retry_time",
    "newest of a payer": "ix_claims_payer_id",
    "lanes with mail": "ix_mails_waiting",
    "guides": "ix_claim_guides_guide_hash",
    "guides known": "ix_claims_guides_not_kept",
    "remove payloads of sends": "ix_submission_attempts_payload",
}
"""What an index was made for."""


def scans(connection: Connection, steps: str) -> set[str]:
    """Tables and indexes that are read from one end to the other, small ones aside."""
    if connection.dialect.name == "sqlite":
        return {index or table for table, index in SCAN.findall(steps) if table not in SMALL}
    return set(_postgres_scans(json.loads(steps)[0]["Plan"]))


def _postgres_scans(node: dict[str, Any]) -> Iterator[str]:
    read = node.get("Index Name") or node.get("Relation Name")
    whole = node["Node Type"] == "Seq Scan" or ("Index Name" in node and "Index Cond" not in node)
    if read and whole and node.get("Relation Name") not in SMALL:
        yield read
    for child in node.get("Plans", ()):
        yield from _postgres_scans(child)


def fill_all(connection: Connection) -> None:
    for table in metadata.sorted_tables:
        fill(connection, table, range(5 if table.name in SMALL else 3_000))
    connection.execute(text("ANALYZE"))


@pytest.fixture
async def filled(store: Store, database: AsyncEngine) -> Store:
    async with database.begin() as connection:
        await connection.run_sync(fill_all)
    await store.run(lambda tx: tx.idempotency.begin(KEY, TERMS, now=NOW))
    return store


async def asked(store: Store, database: AsyncEngine, work: Work) -> list[tuple[str, Any]]:
    async with seen(database) as statements, store.transaction() as tx:
        await work(tx)
    return [(s, p) for s, p in statements if s.lstrip().startswith(("SELECT", "UPDATE", "DELETE"))]


async def test_no_hot_query_scans_a_table_or_an_index(filled: Store, database: AsyncEngine) -> None:
    questions = {name: await asked(filled, database, work) for name, work in HOT.items()}
    assert [name for name, statements in questions.items() if not statements] == []
    bad: dict[str, set[str]] = {}
    used: dict[str, str] = dict.fromkeys(INDEXES, "")
    async with database.begin() as connection:
        for name, statements in questions.items():
            for statement, parameters in statements:
                steps = await connection.run_sync(plan, statement, parameters)
                wrong = await connection.run_sync(scans, steps) - READ_IN_ORDER.get(name, set())
                bad |= {f"{name}: {statement}": wrong} if wrong else {}
                used |= {name: used[name] + steps} if name in INDEXES else {}
    assert bad == {}
    assert {name: index for name, index in INDEXES.items() if index not in used[name]} == {}


async def test_kpis_of_a_period_are_counted_from_an_index_alone(filled: Store, database: AsyncEngine) -> None:
    """But for the claims that were not taken: their rows say what became of them."""
    statements = await asked(filled, database, HOT["kpis of a day"])
    counted = [one for one in statements if "JOIN claims" not in one[0]]
    async with database.begin() as connection:
        plans = [await connection.run_sync(plan, *one) for one in counted]
    index = "ix_first_rounds_first_failed_at"
    alone = f"COVERING INDEX {index}" if database.dialect.name == "sqlite" else index
    assert plans
    assert [steps for steps in plans if alone not in steps] == []


async def test_however_many_claims_stand_still_no_decision_but_theirs_is_read(
    filled: Store, database: AsyncEngine
) -> None:
    async with database.begin() as connection:
        still = text("UPDATE claims SET state = 'IN_REVIEW', reason = 'PERMANENT_ERROR'")
        await connection.execute(still)
        await connection.execute(text("ANALYZE"))
    for name in ("reviews by cause", "review groups", "group, first page", "group's number"):
        questions = await asked(filled, database, HOT[name])
        async with database.begin() as connection:
            for statement, parameters in questions:
                steps = await connection.run_sync(plan, statement, parameters)
                whole = await connection.run_sync(scans, steps)
                assert not {one for one in whole if "retry_decisions" in one}, name
                assert "ix_retry_decisions_newest" in steps, name
