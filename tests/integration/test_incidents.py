"""What is kept and logged of a job's incident, and what a job that a person began again makes of it."""

from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from domain.claim_state import ClaimState
from domain.submission import Accepted, AccessDenied
from persistence.repositories.claims import ClaimRow
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.payer_stage import PAYER, Scene
from workers.runtime import Complete, Incident, Job

CLAIM = "CLM-D-1"
CPF = "529.982.247-25"
DENIED = AccessDenied("UNAUTHORIZED - login or password is wrong", "FAULT:LoginInvalido")


@pytest.fixture
def scene(store: Store) -> Scene:
    return Scene(store)


def job(key: int, job_type: str = "submit-claim", **variables: object) -> Job:
    given: dict[str, Any] = {"claimId": CLAIM, "payerId": PAYER} | variables
    return Job(key, job_type, "Task", 42, 1, {}, given, element_instance_key=43)


async def stuck(scene: Scene, given: Job, message: str = "a person must look") -> None:
    await scene.handler(given.type).on_incident(given, message)


async def claim(scene: Scene) -> ClaimRow | None:
    async with scene.store.reading() as tx:
        return await tx.claims.find(CLAIM)


async def test_an_incident_is_kept_with_its_claim_until_the_claim_moves(scene: Scene) -> None:
    scene.answer = DENIED
    assert isinstance(await scene.handler("submit-claim").handle(job(1)), Incident)
    await stuck(scene, job(1), f"look at CPF {CPF}")
    row = await claim(scene)
    assert row is not None
    assert row.incident is not None
    assert (row.state, row.incident.since) == (ClaimState.FAILED, NOW)
    assert (row.incident.process_instance_key, row.incident.element_instance_key) == (42, 43)
    assert (row.incident.key, row.incident.first_key) == (1, 1)
    assert CPF not in row.incident.message
    async with scene.store.transaction() as tx:
        await tx.claims.move(CLAIM, ClaimState.WAITING, now=later(minutes=1))
    row = await claim(scene)
    assert row is not None
    assert row.incident is None


async def test_a_decision_about_the_claim_ends_its_incident_too(scene: Scene) -> None:
    deciding = job(1, "retry-submission-backoff", submissionError="TIMEOUT", retryCount=0)
    await stuck(scene, job(1))
    assert isinstance(await scene.handler(deciding.type).handle(deciding), Complete)
    row = await claim(scene)
    assert row is not None
    assert (row.state, row.incident) == (ClaimState.WAITING, None)


async def test_a_claim_on_an_incident_holds_no_place_in_its_payers_line(scene: Scene) -> None:
    await scene.fail_twice()
    for number in (1, 3):
        await scene.submit(number, key=200 + number)
    async with scene.store.reading() as tx:
        before = await tx.payers.count_waiting(PAYER)
    await stuck(scene, replace(job(201), process_instance_key=1))
    async with scene.store.reading() as tx:
        assert await tx.payers.count_waiting(PAYER) == before - 1
        assert await tx.payers.wait_of(CLAIM) is None


async def test_a_log_line_warns_with_claim_and_cause(scene: Scene) -> None:
    with capture_logs() as lines:
        await stuck(scene, job(1), f"why, CPF {CPF}")
    [line] = [line for line in lines if line["event"] == "incident"]
    assert (line["log_level"], line["claim"], line["instance"], line["job"]) == ("warning", CLAIM, 42, 1)
    assert line["why"].startswith("why")
    assert CPF not in str(lines)


async def test_a_claim_that_never_left_becomes_known_by_its_incident(scene: Scene) -> None:
    await stuck(scene, job(1, deadline="tomorrow"))
    row = await claim(scene)
    assert row is not None
    assert (row.state, row.payer_id) == (ClaimState.FAILED, PAYER)
    assert row.incident is not None


@pytest.mark.parametrize("job_type", ["retry-submission-backoff", "notify"])
async def test_a_claim_of_a_foreign_process_does_not(scene: Scene, job_type: str) -> None:
    await stuck(scene, job(1, job_type))
    assert await claim(scene) is None


@pytest.mark.parametrize("named", [None, 7, "nobody's", f"CLM-{CPF} Maria"])
async def test_a_process_that_names_no_claim_is_logged_alone(scene: Scene, named: object) -> None:
    with capture_logs() as lines:
        await stuck(scene, job(1, claimId=named))
    assert [(line["event"], line["claim"]) for line in lines] == [("incident", None)]
    assert CPF not in str(lines)


@pytest.mark.parametrize("written", ["reference", "Reference "])
async def test_a_reference_is_logged_as_the_claim_where_the_model_says_so(scene: Scene, written: str) -> None:
    given = replace(job(1, "analyze-retry", claimId="GUIDE-17"), headers={"claimIdForm": written})
    with capture_logs() as lines:
        await stuck(scene, given)
    assert [(line["event"], line["claim"]) for line in lines] == [("incident", "GUIDE-17")]


class Away:
    """A database that is away."""

    async def run(self, _work: object) -> None:
        raise OSError

    async def finished(self) -> None:
        pass

    def refuses(self) -> bool:
        return True


async def test_a_database_that_is_away_keeps_no_report_from_the_engine(scene: Scene) -> None:
    away = replace(scene, store=Away())  # type: ignore[arg-type]
    with capture_logs() as lines:
        await stuck(away, job(1))
    assert [line["event"] for line in lines] == ["incident", "incident_not_recorded"]


async def test_what_a_person_began_again_is_the_same_job_and_is_not_sent_twice(scene: Scene) -> None:
    told = await scene.submit(1, key=1)
    assert told == Complete({"protocolNumber": "P-1"})
    scene.moment, scene.answer = later(hours=25), Accepted("P-2")  # the idempotency record is over
    assert await scene.submit(1, key=2, resolvedJobKey=1) == told
    assert scene.sent == [CLAIM]


async def test_a_job_that_is_stuck_once_more_goes_on_from_the_first(scene: Scene) -> None:
    await stuck(scene, job(2, resolvedJobKey=1))
    row = await claim(scene)
    assert row is not None
    assert row.incident is not None
    assert (row.incident.key, row.incident.first_key) == (2, 1)


async def test_only_the_incident_that_was_resolved_is_cleared(scene: Scene) -> None:
    await stuck(scene, job(1))
    first = await claim(scene)
    await stuck(scene, job(2, resolvedJobKey=1))
    assert first is not None
    assert first.incident is not None
    resolved = first.incident
    await scene.store.run(lambda tx: tx.incidents.clear(CLAIM, resolved))
    row = await claim(scene)
    assert row is not None
    assert row.incident is not None
    assert row.incident.key == 2
    assert await scene.store.look(lambda tx: tx.incidents.count(PAYER)) == 1
