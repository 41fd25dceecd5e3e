"""The rules' use cases on a real broker, and what an operator sees when an input breaks a rule."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bpmn.names import JobType, ProcessId
from domain.claim_state import ClaimState
from gateways.practice.scripted import AcceptLine, FailLine
from tests.process.stage import Claim, Stage, eventually
from tests.support.models import one_task

CPF = "529.982.247-25"


async def test_bil_004_case_9_1_an_unavailable_payer_takes_the_claim_after_a_wait(working: Stage) -> None:
    claim = await working.start(FailLine(error="SERVICE_UNAVAILABLE"), AcceptLine())
    await working.completes(claim, "Task_DecideRetry")
    variables = working.records.variables(claim.instance)
    assert variables["shouldRetry"] is True
    assert variables["retryReason"] == "Retry 1 of 5"
    assert 5 <= variables["backoffMinutes"] <= 6
    await working.pass_the_wait(claim)
    assert (await working.ended(claim))[-1] == "End_ClaimAccepted"
    assert working.records.variables(claim.instance)["protocolNumber"]


async def test_bil_004_case_9_2_an_invalid_procedure_code_is_not_retried(working: Stage) -> None:
    claim = await working.start(FailLine(error="INVALID_PROCEDURE_CODE"))
    await working.completes(claim, "Task_OpenReview")
    variables = working.records.variables(claim.instance)
    assert variables["reviewReason"] == "PERMANENT_ERROR"
    assert variables["errorClassification"] == "PERMANENT"
    assert "nextRetryTime" not in variables


async def test_bil_004_case_9_3_a_payer_that_stays_away_ends_with_management(working: Stage) -> None:
    claim = await working.start(FailLine(error="SERVICE_UNAVAILABLE"))
    begun = await working.clock.now()
    for retry in range(1, 6):
        await working.reaches(claim, ClaimState.WAITING, retry_count=retry)
        await working.pass_the_wait(claim)
    await working.completes(claim, "Task_OpenReview")
    variables = working.records.variables(claim.instance)
    assert variables["reviewReason"] == "MAX_RETRIES_EXCEEDED"
    assert variables["retryCount"] == 5
    assert timedelta(minutes=125) <= await working.clock.now() - begun <= timedelta(minutes=190)


async def test_bil_005_case_9_1_a_timeout_is_analyzed_and_waits_until_its_second(working: Stage) -> None:
    claim = await analyze(working, "TIMEOUT - Connection timeout after 30s", retryCount=1)
    await working.completes(claim, "Task_AnalyzeRetry")
    variables = working.records.variables(claim.instance)
    assert variables["shouldRetry"] is True
    assert variables["retryCount"] == 2
    assert variables["maxRetries"] == 5
    assert 8 <= variables["backoffMinutes"] <= 12
    assert variables["retryReason"] == "Transient error, retry 2 of 5"
    assert variables["errorClassification"] == "TRANSIENT"
    assert variables["originalError"] == "TIMEOUT"
    assert "Event_BackoffElapsed" not in working.records.completed(claim.instance)

    due = datetime.fromisoformat(variables["nextRetryTime"])
    assert await timer_of(working, claim) == due
    await working.pass_until(due)
    assert (await working.ended(claim))[-1] == "End_RetryDue"


async def test_claims_analyzed_together_do_not_return_together(working: Stage) -> None:
    claims = [await analyze(working, "TIMEOUT", retryCount=4) for _ in range(12)]
    timers = [await timer_of(working, claim) for claim in claims]
    assert len({due.second for due in timers}) > 4


async def test_bil_005_case_9_2_five_retries_are_the_most(working: Stage) -> None:
    claim = await analyze(working, "TIMEOUT - Connection timeout", retryCount=5)
    assert (await working.ended(claim))[-1] == "End_ReviewNeeded"
    variables = working.records.variables(claim.instance)
    assert variables["shouldRetry"] is False
    assert variables["retryCount"] == 5


async def test_bil_005_case_9_3_invalid_patient_data_needs_correction(working: Stage) -> None:
    claim = await analyze(working, "INVALID_PATIENT_DATA - CPF inválido")
    assert (await working.ended(claim))[-1] == "End_CorrectionNeeded"
    variables = working.records.variables(claim.instance)
    assert variables["errorClassification"] == "PERMANENT"
    assert variables["submissionError"] == "INVALID_PATIENT_DATA"
    assert variables["responsibleTeam"] == "REGISTRATION"


@pytest.mark.parametrize(
    ("wrong", "rule", "corrected"),
    [
        ({"retryCount": -1}, "BIL-005", {"retryCount": 0}),
        ({"retryCount": "2"}, "BIL-005", {"retryCount": 2}),
        ({"submissionError": 503}, "BIL-005-V4", {"submissionError": "503"}),
        ({"lastSubmissionTime": "yesterday"}, "BIL-005", {"lastSubmissionTime": None}),
        ({"deadline": "tomorrow"}, "BIL-005 10.1", {"deadline": None}),
    ],
)
async def test_a_rejected_input_is_an_incident_that_an_operator_can_mend(
    working: Stage, wrong: dict[str, Any], rule: str, corrected: dict[str, Any]
) -> None:
    [variable] = wrong
    given: dict[str, Any] = {"submissionError": "TIMEOUT", "retryCount": 0} | wrong
    claim = await working.run(ProcessId.SUB_06_ANALYZE, **given)
    incident = await working.incident(claim)
    message = incident.value["errorMessage"]
    assert incident.value["errorType"] == "JOB_NO_RETRIES"
    assert variable in message
    assert rule in message
    assert "Operate" in message

    await working.mend(claim, incident, **corrected)
    await working.completes(claim, "Task_AnalyzeRetry")


async def test_a_model_may_ask_for_an_answer_instead_of_an_error(working: Stage, tmp_path: Path) -> None:
    headers = {"onGiveUp": "return"}
    claim = await own_model(working, tmp_path, "GiveUpReturned", headers, "INSURANCE_EXPIRED")
    await working.completes(claim, "End")
    variables = working.records.variables(claim.instance)
    assert variables["shouldRetry"] is False
    assert variables["nextRetryTime"] is None
    assert variables["responsibleTeam"] == "REGISTRATION"


async def test_a_model_may_set_limits_of_its_own(working: Stage, tmp_path: Path) -> None:
    headers = {"maxRetries": "3", "baseMinutes": "60", "retryProfile": "RN-BIL-005"}
    claim = await own_model(working, tmp_path, "OwnLimits", headers, "TIMEOUT")
    await working.completes(claim, "End")
    variables = working.records.variables(claim.instance)
    assert 48 <= variables["backoffMinutes"] <= 72
    assert variables["maxRetries"] == 3


async def test_a_header_that_makes_no_sense_is_named_in_an_incident(working: Stage, tmp_path: Path) -> None:
    claim = await own_model(working, tmp_path, "BadHeader", {"maxRetries": "many"}, "TIMEOUT")
    incident = await working.incident(claim)
    assert "maxRetries" in incident.value["errorMessage"]


@pytest.mark.parametrize(
    ("process", "headers", "told"),
    [
        ("MisspeltHeader", {"maxRetires": "3"}, "did you mean maxRetries?"),
        ("LeavingHeader", {"maxRetries": "9"}, "rule BIL-004-V1, BIL-005-V1"),
        ("HurriedHeader", {"minMinutes": "0.02", "baseMinutes": "0.02"}, "rule BIL-004-V3"),
        ("CrampedHeader", {"maxMinutes": "5"}, "rule BIL-004-V4"),
        ("LoginHeader", {"alsoTransient": "HTTP:401"}, "rule BIL-004-V2"),
    ],
)
async def test_a_header_that_is_not_known_or_leaves_a_rule_is_an_incident(
    working: Stage, tmp_path: Path, process: str, headers: dict[str, str], told: str
) -> None:
    claim = await own_model(working, tmp_path, process, headers, "TIMEOUT")
    message = (await working.incident(claim)).value["errorMessage"]
    assert told in message
    assert all(header in message for header in headers)


async def test_what_identifies_a_patient_never_enters_the_engine(working: Stage) -> None:
    claim = await working.start(FailLine(error=f"INVALID_PATIENT_DATA - CPF {CPF} de paciente"))
    await working.completes(claim, "Task_OpenReview")
    assert CPF not in working.records.everything()
    async with working.app.store.transaction() as tx:
        [review] = await tx.reviews.of_claim(claim.id.value)
    assert CPF not in (review.detail or "")


async def timer_of(stage: Stage, claim: Claim) -> datetime:
    """When the timer that the claim waits for is due, by the broker's own record."""

    async def look() -> datetime | None:
        found = stage.records.of_instance(claim.instance, "TIMER", "CREATED")
        return datetime.fromtimestamp(found[-1].value["dueDate"] / 1_000, UTC) if found else None

    return await eventually(look, f"a timer of {claim.id}")


async def analyze(stage: Stage, error: str, **variables: Any) -> Claim:
    return await stage.run(ProcessId.SUB_06_ANALYZE, submissionError=error, **variables)


async def own_model(stage: Stage, folder: Path, process: str, headers: dict[str, str], error: str) -> Claim:
    """Deploy and run a modeller's own process around retry-submission-backoff."""
    await stage.app.commands.deploy(one_task(folder, process, JobType.RETRY_SUBMISSION_BACKOFF, headers))
    return await stage.run(process, submissionError=error, retryCount=0)
