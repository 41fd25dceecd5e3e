"""What the runtime makes of a handler's answer, its silence and its failures."""

import asyncio
from datetime import timedelta

import pytest

from workers.jobs.outage_tolerant import outage_tolerant
from workers.runtime import Complete, Fail, Incident, Job, JobHandler, Outcome, Postpone, Throw
from workers.runtime.events import RuntimeEvent
from workers.runtime.executor import run_handler
from workers.runtime.handler import JobInput, typed
from workers.runtime.outcome import from_json, to_json

SECRET = "Maria da Silva"


def job(**variables: object) -> Job:
    return Job(1, "submit-claim", "Task_SubmitClaim", 2, 3, {}, variables)


class Input(JobInput):
    """A typed input."""

    claim_id: str
    retry_count: int = 0


async def echo(_job: Job, given: Input) -> Outcome:
    return Complete({"seen": given.claim_id, "count": given.retry_count})


def handler(handle: object, limit: timedelta = timedelta(seconds=5)) -> JobHandler:
    return JobHandler("submit-claim", ("claimId",), handle, time_limit=limit)  # type: ignore[arg-type]


def test_the_variables_to_fetch_are_the_inputs_own_in_camel_case() -> None:
    assert Input.names() == ("claimId", "retryCount")


async def test_a_typed_input_is_read_before_the_handler_runs() -> None:
    outcome = await run_handler(handler(typed(Input, echo)), job(claimId="CLM-1-1", retryCount=2))
    assert outcome == Complete({"seen": "CLM-1-1", "count": 2})


@pytest.mark.parametrize(
    ("variables", "named", "not_named"),
    [
        ({}, "claimId", "retryCount"),
        ({"claimId": 5}, "claimId", "retryCount"),
        ({"claimId": "x", "retryCount": "2"}, "retryCount", "claimId"),
    ],
)
async def test_a_variable_that_does_not_fit_is_an_incident_that_names_it(
    variables: dict[str, object], named: str, not_named: str
) -> None:
    outcome = await run_handler(handler(typed(Input, echo)), job(**variables))
    assert isinstance(outcome, Incident)
    assert named in outcome.message
    assert not_named not in outcome.message
    assert "Operate" in outcome.message


async def test_a_wrong_value_is_not_quoted() -> None:
    outcome = await run_handler(handler(typed(Input, echo)), job(claimId=[SECRET]))
    assert isinstance(outcome, Incident)
    assert SECRET not in outcome.message


async def test_a_handler_past_its_limit_fails_with_a_backoff_unless_the_database_refused() -> None:
    async def hang(_job: Job) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    late = handler(hang, timedelta(milliseconds=10))
    outcome = await run_handler(late, job())
    assert isinstance(outcome, Fail)
    assert outcome.backoff > timedelta()
    assert outcome == await run_handler(outage_tolerant(late, refuses=lambda: False), job())
    assert isinstance(await run_handler(outage_tolerant(late, refuses=lambda: True), job()), Postpone)


async def test_an_unforeseen_error_names_its_kind_and_no_data() -> None:
    async def crash(_job: Job) -> Outcome:
        raise LookupError(SECRET)

    events: list[RuntimeEvent] = []
    outcome = await run_handler(handler(crash), job(patient=SECRET), events.append)
    assert isinstance(outcome, Fail)
    assert "LookupError" in outcome.message
    assert SECRET not in outcome.message
    assert events
    assert SECRET not in str(events)


def test_a_job_never_shows_its_variables() -> None:
    assert SECRET not in repr(job(patient=SECRET))


@pytest.mark.parametrize("outcome", [Complete({"a": 1}), Complete(), Throw("CODE", "why", {"b": None})])
def test_an_outcome_survives_storage(outcome: Complete | Throw) -> None:
    assert from_json(to_json(outcome)) == outcome
