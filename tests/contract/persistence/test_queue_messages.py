"""What reaches the message queue: what both rules list, and the audit events themselves (5.1)."""

import asyncio
import json
from hashlib import sha256
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.store import Store
from tests.support.builders import CLAIM, REFUSAL, draft

LEAKY = "INVALID_PATIENT_DATA - CPF 529.982.247-25"
STATEMENTS = 8


async def messages(store: Store) -> list[dict[str, Any]]:
    async with store.reading() as tx:
        return [json.loads(message.payload) for message in await tx.outbox.unpublished(99)]


@pytest.mark.parametrize("profile", ["RN-BIL-004", "RN-BIL-005"])
@pytest.mark.parametrize("asked", [{}, {"count": 5}, {"error": REFUSAL}], ids=["retry", "spent", "refused"])
async def test_bil_004_and_005_7_1_a_message_carries_error_reason_and_time_taken(
    store: Store, profile: str, asked: dict[str, Any]
) -> None:
    given = draft(profile=profile, **asked)
    await store.record(given)
    [message] = await messages(store)
    assert message["submissionError"] == given.decision.last_error
    assert message["retryReason"] == given.decision.reason
    assert message["executionTimeMs"] == 7


async def test_a_message_carries_no_personal_data(store: Store) -> None:
    await store.record(draft(error=LEAKY))
    [message] = await messages(store)
    assert message["submissionError"] == "INVALID_PATIENT_DATA"
    assert "529.982.247-25" not in json.dumps(message)


def seal(claim_id: str, told: dict[str, Any]) -> str:
    """The seal as a reader of the queue computes it, with nothing of ours."""
    parts = [told["previousHash"], claim_id, told["sequence"], told["event"], told["at"], told["jobKey"]]
    text = json.dumps([*parts, told["data"]], separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


async def test_bil_004_and_005_5_1_the_audit_events_reach_the_queue_with_their_seals(store: Store) -> None:
    await store.record(draft(error="TIMEOUT - sem conexão"))
    await store.record(draft(count=5))
    async with store.reading() as tx:
        trail = await tx.audit.of_claim(CLAIM)
    told = [one for message in await messages(store) for one in message["auditEvents"]]
    assert [(one["sequence"], one["event"], one["data"], one["hash"]) for one in told] == [
        (one.sequence, one.event, one.data, one.hash) for one in trail
    ]
    assert [seal(CLAIM, one) for one in told] == [one["hash"] for one in told]


async def test_a_commit_takes_as_many_statements_as_before_however_many_decisions_it_holds(
    store: Store, database: AsyncEngine
) -> None:
    await store.record(draft())  # the policy is kept
    seen: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_: object) -> None:
        if not statement.startswith("BEGIN"):
            seen.append(statement)

    event.listen(database.sync_engine, "before_cursor_execute", note)
    await asyncio.gather(*(store.record(draft(f"CLM-7-{n}")) for n in range(20)))
    event.remove(database.sync_engine, "before_cursor_execute", note)
    commits = sum(statement.startswith("INSERT INTO outbox") for statement in seen)
    assert commits <= 2  # the first goes alone, the others wait for it and share one
    locks = sum("pg_advisory_xact_lock" in statement for statement in seen)
    assert locks == (commits if database.dialect.name == "postgresql" else 0)
    first_rounds = sum(statement.startswith("INSERT INTO first_rounds") for statement in seen)
    assert first_rounds <= commits  # one for all claims that failed for the first time
    assert len(seen) - locks - first_rounds <= STATEMENTS * commits
