"""The audit trail: append-only, chained, anchored; whatever is done to it is found."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.policy import Policy
from persistence.audit.verification import AuditProblem
from persistence.repositories.policies import document, restored
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, POLICY, REFUSAL, draft, later
from workers.policy import parse_policy
from workers.policy.file import default_text
from workers.upkeep.retention import set_due_anchors

UNLOCK = "INSERT INTO audit_permits VALUES ('audit_events:UPDATE'), ('audit_events:DELETE')"


async def some_decisions(store: Store) -> None:
    for n in range(6):
        await store.record(draft(count=n, now=later(hours=n)))
    await store.record(draft("CLM-002-2", error=REFUSAL))
    await store.record(draft("CLM-003-3", profile="RN-BIL-005", code="HTTP:503", error=""))
    await store.record(draft("CLM-004-4", error="CPF 123.456.789-09 timeout"))


async def problems(store: Store, now: datetime = NOW) -> list[AuditProblem]:
    """All but the numbers that are missing, which SQLite tells of beside the rest."""
    async with store.reading() as tx:
        found = [problem async for problem in tx.verification.problems(now)]
    return [problem for problem in found if "are missing: they were removed" not in problem.what]


async def tamper(database: AsyncEngine, *statements: str) -> None:
    """What somebody with all rights in the database can do."""
    async with database.begin() as connection:
        for statement in (UNLOCK, *statements, "DELETE FROM audit_permits"):
            await connection.execute(text(statement))


async def test_an_untouched_trail_is_whole(store: Store) -> None:
    await some_decisions(store)
    await set_due_anchors(store, later(days=2))
    async with store.reading() as tx:
        assert [problem async for problem in tx.verification.problems(later(days=2))] == []
        tally = tx.verification.tally
    assert (tally.decisions, tally.anchors) == (9, 2)


def leaving_policy() -> Policy:
    text = default_text().replace("jitter_percent = 20", "jitter_percent = 80")
    return parse_policy(text.replace("leaves = []", 'leaves = ["BIL-004-V4"]', 1))


async def test_a_decision_that_leaves_a_rule_says_so_wherever_it_is_kept_and_can_be_proven(
    store: Store,
) -> None:
    await store.record(draft(policy=leaving_policy()))
    async with store.reading() as tx:
        [stored] = await tx.decisions.of_claims([CLAIM])
        events = {event.event: json.loads(event.data) for event in await tx.audit.of_claim(CLAIM)}
    said = "Retry 1 of 5 (leaves BIL-004-V4)"
    assert (stored.retry_reason, stored.result["complete"]["retryReason"]) == (said, said)
    assert (events["DECIDED"]["retryReason"], events["DECIDED"]["leftRules"]) == (said, ["BIL-004-V4"])
    assert await problems(store) == []


async def test_a_decision_of_a_policy_kept_before_rules_could_be_named_is_still_proven(
    store: Store, database: AsyncEngine
) -> None:
    old = replace(leaving_policy(), leaves=frozenset())
    await store.record(draft(policy=old))
    kept = json.loads(document(old))
    del kept["leaves"], kept["claim_id_form"]
    async with database.begin() as connection:
        await connection.execute(text("INSERT INTO audit_permits VALUES ('policies:UPDATE')"))
        changed = text("UPDATE policies SET document = :document")
        await connection.execute(changed, {"document": json.dumps(kept)})
        await connection.execute(text("DELETE FROM audit_permits"))
    assert await problems(store) == []


@pytest.mark.parametrize("table", ["audit_events", "audit_anchors", "policies"])
@pytest.mark.parametrize("change", ["UPDATE {0} SET {1} = {1}", "DELETE FROM {0}"])
async def test_the_database_itself_refuses_to_change_or_delete(
    store: Store, database: AsyncEngine, table: str, change: str
) -> None:
    await some_decisions(store)
    await set_due_anchors(store, later(days=2))
    column = {"audit_events": "data", "audit_anchors": "digest", "policies": "document"}[table]
    with pytest.raises(DBAPIError, match="append-only"):
        async with database.begin() as connection:
            await connection.execute(text(change.format(table, column)))


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
async def test_postgresql_refuses_to_empty_the_trail_too(database: AsyncEngine) -> None:
    with pytest.raises(DBAPIError, match="append-only"):
        async with database.begin() as connection:
            await connection.execute(text("TRUNCATE audit_events"))


async def test_a_changed_event_is_found(store: Store, database: AsyncEngine) -> None:
    await some_decisions(store)
    await tamper(
        database,
        f"UPDATE audit_events SET data = replace(data, 'TIMEOUT', 'time') WHERE claim_id = '{CLAIM}' AND sequence = 1",  # noqa: E501, S608
    )
    assert AuditProblem(f"{CLAIM} event 1", "it was changed") in await problems(store)


async def test_a_removed_event_is_found(store: Store, database: AsyncEngine) -> None:
    await some_decisions(store)
    await tamper(database, f"DELETE FROM audit_events WHERE claim_id = '{CLAIM}' AND sequence = 3")  # noqa: S608
    assert await problems(store) == [AuditProblem(f"{CLAIM} event 4", "event 3 before it is missing")]


async def test_a_removed_beginning_is_found(store: Store, database: AsyncEngine) -> None:
    await some_decisions(store)
    await tamper(database, f"DELETE FROM audit_events WHERE claim_id = '{CLAIM}' AND sequence <= 6")  # noqa: S608
    found = await problems(store)
    assert AuditProblem(f"{CLAIM} event 1", "missing: the chain begins with event 7") in found


async def test_a_removed_end_is_found(store: Store, database: AsyncEngine) -> None:
    await some_decisions(store)
    await tamper(database, "DELETE FROM audit_events WHERE claim_id = 'CLM-002-2' AND sequence = 4")
    expected = AuditProblem("CLM-002-2 event 4", "the decision is kept, but its event is gone")
    assert await problems(store) == [expected]


async def test_a_removed_claim_is_found_by_the_anchor_of_its_day(store: Store, database: AsyncEngine) -> None:
    await some_decisions(store)
    await set_due_anchors(store, later(days=2))
    await tamper(
        database,
        "DELETE FROM audit_events WHERE claim_id = 'CLM-002-2'",
        "DELETE FROM retry_decisions WHERE claim_id = 'CLM-002-2'",
    )
    [removed, anchor] = await problems(store)
    assert removed.where == "CLM-002-2"
    assert anchor.where == f"anchor of {NOW.date()}"


@pytest.mark.parametrize("said", ["2026-01-13 12:00:00.000000", "2031-06-01 12:00:00.000000"])
async def test_a_removal_that_retention_cannot_have_made_excuses_nothing(
    store: Store, database: AsyncEngine, said: str
) -> None:
    await some_decisions(store)
    await set_due_anchors(store, later(days=2))
    await tamper(
        database,
        "INSERT INTO audit_permits VALUES ('audit_anchors:UPDATE')",
        f"UPDATE audit_anchors SET pruned_at = '{said}' WHERE day = '2026-01-12'",  # noqa: S608
        f"DELETE FROM audit_events WHERE claim_id = '{CLAIM}' AND sequence = 3",  # noqa: S608
        "DELETE FROM audit_events WHERE claim_id = 'CLM-002-2'",
        "DELETE FROM retry_decisions WHERE claim_id = 'CLM-002-2'",
        "DELETE FROM audit_events WHERE claim_id = 'CLM-003-3'",
    )
    gap, trail, told, removal, digest = await problems(store, later(days=2))
    assert gap == AuditProblem(f"{CLAIM} event 4", "event 3 before it is missing")
    assert trail == AuditProblem("CLM-003-3 event 6", "the decision is kept, but its event is gone")
    assert told.where == "CLM-002-2"
    assert removal.where == digest.where == "anchor of 2026-01-12"
    assert f"removed at {said[:10]}T12:00:00+00:00, but retention" in removal.what
    assert "not those that were anchored" in digest.what


@pytest.mark.parametrize("record", ["outbox", "claim_events"])
async def test_a_claim_removed_before_its_day_is_anchored_is_found(
    store: Store, database: AsyncEngine, record: str
) -> None:
    await some_decisions(store)
    other = {"outbox": "claim_events", "claim_events": "outbox"}[record]
    tables = ("audit_events", "retry_decisions", other)
    await tamper(database, *(f"DELETE FROM {table} WHERE claim_id = 'CLM-002-2'" for table in tables))  # noqa: S608
    missed = "1 decisions are told of elsewhere, but were removed with their audit events"
    assert await problems(store) == [AuditProblem("CLM-002-2", missed)]


async def test_a_last_decision_removed_with_its_events_is_found(store: Store, database: AsyncEngine) -> None:
    await some_decisions(store)
    place = f"WHERE claim_id = '{CLAIM}' AND"
    await tamper(
        database,
        f"DELETE FROM audit_events {place} sequence > (SELECT audit_sequence FROM retry_decisions {place} retry_count = 4) + 1",  # noqa: E501, S608
        f"DELETE FROM retry_decisions {place} retry_count = 5",  # noqa: S608
    )
    [problem] = await problems(store)
    assert problem.where == CLAIM


async def test_reordered_events_are_found(store: Store, database: AsyncEngine) -> None:
    await some_decisions(store)
    place = f"WHERE claim_id = '{CLAIM}' AND sequence ="
    await tamper(
        database,
        f"UPDATE audit_events SET sequence = 999 {place} 2",  # noqa: S608
        f"UPDATE audit_events SET sequence = 2 {place} 3",  # noqa: S608
        f"UPDATE audit_events SET sequence = 3 {place} 999",  # noqa: S608
    )
    assert {problem.where for problem in await problems(store)} >= {f"{CLAIM} event 2", f"{CLAIM} event 3"}


async def test_a_decision_that_does_not_follow_from_its_policy_is_found(store: Store) -> None:
    honest = draft()
    assert honest.retry is not None
    wait = honest.retry.backoff
    forged = type(wait)(wait.retry_count, wait.base_seconds, wait.low_seconds, wait.high_seconds, 0.5, 3_600)
    given = type(honest.retry)(
        **{name: getattr(honest.retry, name) for name in honest.retry.__dataclass_fields__}
        | {"backoff": forged, "next_retry_time": NOW + timedelta(hours=1)}
    )
    await store.record(draft(decision=given))
    [problem] = await problems(store)
    assert problem.where == f"{CLAIM} event 5"
    assert problem.what == "it does not follow from its policy: backoffMinutes, nextRetryTime"


async def test_a_policy_that_is_not_kept_is_named(store: Store, database: AsyncEngine) -> None:
    await store.record(draft())
    async with database.begin() as connection:
        await connection.execute(text("INSERT INTO audit_permits VALUES ('policies:DELETE')"))
        await connection.execute(text("DELETE FROM policies"))
        await connection.execute(text("DELETE FROM audit_permits"))
    [problem] = await problems(store)
    assert "is not kept" in problem.what


@pytest.mark.parametrize("document", ["", "[]", "{}", '{"profile": 5}', "[" * 100_000])
async def test_a_policy_that_cannot_be_read_is_a_problem_and_no_crash(
    store: Store, database: AsyncEngine, document: str
) -> None:
    await store.record(draft())
    await tamper(
        database,
        "INSERT INTO audit_permits VALUES ('policies:UPDATE')",
        f"UPDATE policies SET document = '{document}'",  # noqa: S608
    )
    [problem] = await problems(store)
    assert problem.where == f"{CLAIM} event 5"
    assert "cannot be read" in problem.what


@pytest.mark.parametrize(
    ("event", "written", "damaged", "what"),
    [
        ("DECIDED", '"shouldRetry":', '"shouldRetr":', "it does not follow from its policy: shouldRetry"),
        ("DECIDED", '"backoffMinutes":', '"backoffMinute":', "it does not follow from its policy: backoff"),
        ("RECEIVED", '"submissionErrorCode":null', '"submissionErrorCode":5', "it cannot be decided again ("),
        ("RECEIVED", '"retryCount":0', '"retryCount":[]', "it cannot be decided again ("),
        ("RECEIVED", '"submissionError":', '"submissionErro":', "it cannot be decided again ("),
    ],
)
async def test_a_damaged_event_is_a_problem_and_no_crash(
    store: Store, database: AsyncEngine, event: str, written: str, damaged: str, what: str
) -> None:
    await store.record(draft(error="CPF 123.456.789-09 timeout"))
    change = f"data = replace(data, '{written}', '{damaged}')"
    await tamper(database, f"UPDATE audit_events SET {change} WHERE event = '{event}'".replace(":", "\\:"))  # noqa: S608
    changed, undecided = await problems(store)
    assert changed.what == "it was changed"
    assert undecided.where == f"{CLAIM} event 5"
    assert undecided.what.startswith(what)


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)  # PostgreSQL keeps nothing but times in there
async def test_a_time_that_is_none_is_a_problem_and_no_crash(store: Store, database: AsyncEngine) -> None:
    await some_decisions(store)
    await tamper(database, "UPDATE audit_events SET at = 'x' WHERE claim_id = 'CLM-004-4' AND sequence = 1")
    [problem] = await problems(store)
    assert problem.where == "the trail"
    assert problem.what.startswith("a row cannot be read (")


@pytest.mark.parametrize("profile", ["RN-BIL-004", "RN-BIL-005"])
def test_a_policy_comes_back_as_it_was(profile: str) -> None:
    policy = POLICY.under(profile)
    back = restored(document(policy))
    assert document(back) == document(policy)
    assert (back.label, back.limits, back.catalog, back.profile) == (
        policy.label, policy.limits, policy.catalog, policy.profile
    )  # fmt: skip


async def test_a_day_is_anchored_once_it_is_over_and_settled(store: Store) -> None:
    await some_decisions(store)
    midnight = NOW.replace(hour=0, minute=0) + timedelta(days=1)
    assert await set_due_anchors(store, midnight + timedelta(minutes=59)) == 0
    assert await set_due_anchors(store, midnight + timedelta(minutes=61)) == 1
    assert await set_due_anchors(store, midnight + timedelta(days=3, hours=2)) == 3
    async with store.reading() as tx:
        anchors = await tx.anchors.all()
    assert [anchor.events for anchor in anchors if not anchor.is_beginning] == [50, 0, 0, 0]
