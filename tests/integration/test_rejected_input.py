"""Rejected input leaves its mark: received, rejected, by which rule; once per job, without the value."""

import json
from typing import Any

import pytest

from persistence.audit.chain import AuditEvent
from persistence.store import Store
from tests.support.builders import CLAIM, NOW
from tests.support.services import services
from workers.jobs import all_handlers
from workers.runtime import Complete, Incident, Job, Outcome

GOOD = {"claimId": CLAIM, "submissionError": "TIMEOUT", "retryCount": 0}
PATIENT = "Maria da Silva 529.982.247-25"
both_jobs = pytest.mark.parametrize("job", ["retry-submission-backoff", "analyze-retry"])


async def deliver(store: Store, job: str, variables: dict[str, Any], key: int = 7, **headers: str) -> Outcome:
    [handler] = [one for one in all_handlers(services(store)) if one.type == job]
    return await handler.handle(Job(key, job, "Task", 42, 3, headers, variables))


async def trail(store: Store, chain: str = CLAIM) -> list[AuditEvent]:
    async with store.reading() as tx:
        return list(await tx.audit.of_claim(chain))


async def problems(store: Store) -> list[object]:
    async with store.reading() as tx:
        return [problem async for problem in tx.verification.problems(NOW)]


@both_jobs
async def test_bil_004_and_005_7_1_a_rejected_input_is_received_and_rejected_by_its_rule(
    store: Store, job: str
) -> None:
    outcome = await deliver(store, job, GOOD | {"retryCount": -1})
    assert isinstance(outcome, Incident)
    received, rejected = await trail(store)
    assert (received.event, rejected.event) == ("RECEIVED", "REJECTED")
    said = json.loads(rejected.data)
    assert said["input"] == "Variable retryCount"
    assert f"(rule {said['rule']})" in outcome.message
    assert said["processInstanceKey"] == "42"
    assert await problems(store) == []


async def test_bil_004_v6_an_empty_error_is_rejected_under_its_number(store: Store) -> None:
    await deliver(store, "retry-submission-backoff", GOOD | {"submissionError": ""})
    assert json.loads((await trail(store))[-1].data)["rule"] == "BIL-004-V6"


async def test_a_header_that_makes_no_sense_is_rejected_in_the_trail_too(store: Store) -> None:
    await deliver(store, "retry-submission-backoff", GOOD, maxRetries="many")
    assert json.loads((await trail(store))[-1].data)["input"] == "Task header maxRetries"


@both_jobs
async def test_a_job_that_comes_again_with_the_same_broken_input_adds_nothing(store: Store, job: str) -> None:
    for _ in range(3):
        await deliver(store, job, GOOD | {"retryCount": -1})
    assert len(await trail(store)) == 2
    await deliver(store, job, GOOD | {"retryCount": -1}, key=8)
    await deliver(store, job, GOOD | {"lastSubmissionTime": "yesterday"})
    assert [event.event for event in await trail(store)] == ["RECEIVED", "REJECTED"] * 3


@pytest.mark.parametrize("claim", [None, "", PATIENT, 5, "CLM-1", "instance:42"])
async def test_without_a_claims_id_the_trail_is_the_process_instances(store: Store, claim: object) -> None:
    await deliver(store, "retry-submission-backoff", GOOD | {"claimId": claim})
    assert [event.event for event in await trail(store, "@instance:42")] == ["RECEIVED", "REJECTED"]
    assert await problems(store) == []


async def test_the_value_is_kept_nowhere(store: Store) -> None:
    for variables in ({"claimId": PATIENT}, {"retryCount": PATIENT}, {"submissionErrorCode": PATIENT}):
        await deliver(store, "analyze-retry", GOOD | variables)
    async with store.reading() as tx:
        told = [message.payload for message in await tx.outbox.unpublished(9)]
    kept = [event.data for chain in (CLAIM, "@instance:42") for event in await trail(store, chain)]
    assert (len(told), len(kept)) == (3, 6)
    assert [text for text in (*told, *kept) if "Maria" in text or "529.982" in text] == []


async def test_the_queue_hears_of_it_with_its_audit_events(store: Store) -> None:
    await deliver(store, "retry-submission-backoff", GOOD | {"retryCount": -1})
    async with store.reading() as tx:
        [message] = await tx.outbox.unpublished(9)
    payload = json.loads(message.payload)
    assert (message.type, message.claim_id, payload["rule"]) == ("RetryInputRejected", CLAIM, "BIL-004-V5")
    assert [one["hash"] for one in payload["auditEvents"]] == [event.hash for event in await trail(store)]


@both_jobs
async def test_once_it_is_mended_the_decision_follows_in_the_same_chain(store: Store, job: str) -> None:
    await deliver(store, job, GOOD | {"retryCount": -1})
    assert isinstance(await deliver(store, job, GOOD), Complete)
    events = [event.event for event in await trail(store)]
    assert events[:3] == ["RECEIVED", "REJECTED", "RECEIVED"]
    assert events[-2:] == ["DECIDED", "SCHEDULED"]
    assert await problems(store) == []


async def test_a_reference_has_a_chain_of_its_own_where_the_model_says_so(store: Store) -> None:
    variables = GOOD | {"claimId": "instance:42", "retryCount": -1}
    await deliver(store, "analyze-retry", variables, claimIdForm="reference")
    assert [event.event for event in await trail(store, "instance:42")] == ["RECEIVED", "REJECTED"]
    assert await trail(store, "@instance:42") == []


@pytest.mark.parametrize("written", ["Reference", " REFERENCE ", "reference"])
async def test_the_form_of_ids_is_read_as_the_policy_reads_it(store: Store, written: str) -> None:
    variables = GOOD | {"claimId": "GUIDE-17", "retryCount": -1}
    await deliver(store, "retry-submission-backoff", variables, claimIdForm=written)
    assert [event.event for event in await trail(store, "GUIDE-17")] == ["RECEIVED", "REJECTED"]
    assert await trail(store, "@instance:42") == []


async def test_what_is_rejected_names_the_profile_that_its_rule_belongs_to(store: Store) -> None:
    empty, job = GOOD | {"submissionError": ""}, "retry-submission-backoff"
    await deliver(store, job, empty, retryProfile=" RN-BIL-005", onEmptyError="reject")
    said = json.loads((await trail(store))[-1].data)
    assert (said["profile"], said["rule"]) == ("RN-BIL-005", "BIL-005-V4")


async def test_a_profile_that_nobody_knows_is_rejected_under_the_jobs_own(store: Store) -> None:
    await deliver(store, "analyze-retry", GOOD, retryProfile="RN-BIL-006", claimIdForm="neither")
    said = json.loads((await trail(store))[-1].data)
    assert (said["profile"], said["input"]) == ("RN-BIL-005", "Task header retryProfile")


@pytest.mark.parametrize("deadline", ["tomorrow", 5, PATIENT])
async def test_bil_005_10_1_a_deadline_that_submit_claim_cannot_read_is_rejected_in_the_trail_once(
    store: Store, deadline: object
) -> None:
    for _ in range(2):
        outcome = await deliver(store, "submit-claim", {"claimId": CLAIM, "deadline": deadline})
        assert isinstance(outcome, Incident)
    received, rejected = await trail(store)
    assert (received.event, rejected.event) == ("RECEIVED", "REJECTED")
    said = json.loads(rejected.data)
    assert (said["profile"], said["rule"], said["input"]) == (
        "RN-BIL-004",
        "BIL-005 10.1",
        "Variable deadline",
    )
    assert await problems(store) == []
