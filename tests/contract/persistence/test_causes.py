"""Spent retries and a deadline are told apart wherever a decision is remembered or told."""

import json
from dataclasses import replace
from typing import Any

import pytest

from domain.claim_state import ClaimState
from domain.decision import Cause, Exhausted
from persistence.audit.chain import AuditDraft, Head, seal_all
from persistence.audit.trail import DECIDED, trail_of
from persistence.audit.verification import AuditProblem
from persistence.database.canonical import canonical
from persistence.repositories.decisions import stored_form
from persistence.repositories.draft import DecisionDraft
from persistence.repositories.policies import Policies
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, draft, later

PROFILES = ("RN-BIL-004", "RN-BIL-005")
SPENT: dict[str, Any] = {"count": 5}
TOO_LATE: dict[str, Any] = {"count": 1, "deadline": later(hours=4)}
both_causes = pytest.mark.parametrize(
    ("asked", "cause"), [(SPENT, "RETRIES"), (TOO_LATE, "DEADLINE")], ids=["retries", "deadline"]
)


async def told(store: Store) -> dict[str, Any]:
    """The newest message for the queue."""
    async with store.reading() as tx:
        payload: dict[str, Any] = json.loads((await tx.outbox.unpublished(99))[-1].payload)
        return payload


async def problems(store: Store) -> list[AuditProblem]:
    async with store.reading() as tx:
        return [problem async for problem in tx.verification.problems(NOW)]


async def sent(store: Store, times: int) -> None:
    """A claim of ours that left so many times."""
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "payer-1", ClaimState.FAILED, now=NOW)
        for number in range(times):
            await tx.attempts.start(CLAIM, 100 + number, now=NOW)


@pytest.mark.parametrize("profile", PROFILES)
@both_causes
async def test_bil_004_and_005_the_cause_is_in_event_row_trail_and_error(
    store: Store, profile: str, asked: dict[str, Any], cause: str
) -> None:
    given = draft(profile=profile, **asked)
    await store.record(given)
    async with store.reading() as tx:
        [row] = await tx.decisions.of_claims([CLAIM])
        trail = await tx.audit.of_claim(CLAIM)
    [decided] = [json.loads(event.data) for event in trail if event.event == DECIDED]
    assert given.result["throw"] == "MAX_RETRIES_EXCEEDED"
    variables = given.result["variables"]
    assert [variables["cause"], row.cause, decided["cause"], (await told(store))["cause"]] == [cause] * 4
    assert await problems(store) == []


async def test_what_is_not_exhausted_has_no_cause(store: Store) -> None:
    await store.record(draft())
    async with store.reading() as tx:
        [row] = await tx.decisions.of_claims([CLAIM])
    assert row.cause is None
    assert "cause" not in await told(store)


@pytest.mark.parametrize("sends", [0, 2, 9])
@both_causes
async def test_bil_005_12_3_total_attempts_are_the_sends_that_happened(
    store: Store, sends: int, asked: dict[str, Any], cause: str
) -> None:
    await sent(store, sends)
    await store.record(draft(profile="RN-BIL-005", **asked))
    assert (await told(store))["totalAttempts"] == sends
    assert (await told(store))["cause"] == cause


@both_causes
async def test_bil_005_12_3_a_claim_that_others_send_left_once_and_for_each_retry(
    store: Store, asked: dict[str, Any], cause: str
) -> None:
    await store.record(draft(profile="RN-BIL-005", **asked))
    assert (await told(store))["totalAttempts"] == asked["count"] + 1


def as_before(event: AuditDraft) -> AuditDraft:
    """The record as earlier versions wrote it: one name for the error, and no cause."""
    if event.event != DECIDED:
        return event
    data = json.loads(event.data)
    data.pop("cause", None)
    data["submissionError"] = data.pop("errorMessage", data.get("submissionError"))
    return replace(event, data=canonical(data))


async def keep_as_before(store: Store, given: DecisionDraft) -> None:
    sealed = seal_all(map(as_before, trail_of(given, 7)), Head())
    stored = stored_form(given, round_=0, audit_sequence=sealed[-1].sequence)
    async with store.transaction() as tx:
        await Policies(tx.audit._connection).keep([given.policy], now=NOW)
        await tx.decisions.keep([replace(stored, cause=None)])
        await tx.audit.append(sealed)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("asked", [{}, SPENT, TOO_LATE], ids=["retry", "retries", "deadline"])
async def test_records_of_earlier_versions_still_prove_themselves(
    store: Store, profile: str, asked: dict[str, Any]
) -> None:
    await keep_as_before(store, draft(profile=profile, **asked))
    await store.record(draft("CLM-002-2", profile=profile, **asked))
    assert await problems(store) == []


@pytest.mark.parametrize("profile", PROFILES)
async def test_a_cause_that_does_not_follow_from_the_policy_is_found(store: Store, profile: str) -> None:
    honest = draft(profile=profile, **TOO_LATE)
    assert isinstance(honest.decision, Exhausted)
    forged = replace(honest.decision, cause=Cause.RETRIES)
    await store.record(replace(honest, decision=forged))
    assert [problem.what for problem in await problems(store)] == [
        "it does not follow from its policy: cause"
    ]
