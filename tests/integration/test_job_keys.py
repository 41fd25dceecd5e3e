"""A job's key is known again with its claim only: a broker that was set up anew counts keys from 1."""

import pytest

from persistence.store import Store
from tests.support.payer_stage import PAYER, Scene
from workers.runtime import Complete, Job

FIRST, SECOND = "CLM-D-1", "CLM-D-2"


@pytest.fixture
def scene(store: Store) -> Scene:
    return Scene(store)


@pytest.mark.parametrize("named", [{}, {"resolvedJobKey": 5}])
async def test_the_answer_to_one_claim_is_never_given_to_another(
    scene: Scene, named: dict[str, object]
) -> None:
    await scene.submit(1, key=5)
    await scene.submit(2, key=6 if named else 5, **named)
    assert scene.sent == [FIRST, SECOND]


async def done(scene: Scene, claim: str, job_type: str, **variables: object) -> Complete:
    texts = {"recipientGroup": "BILLING_MANAGEMENT", "template": "permanent-error"}
    headers = texts if job_type == "notify" else {}
    given = {"claimId": claim, "payerId": PAYER} | variables
    outcome = await scene.handler(job_type).handle(Job(5, job_type, "Task", 1, 3, headers, given))
    assert isinstance(outcome, Complete)
    return outcome


async def test_each_claim_gets_its_own_review_and_once(scene: Scene) -> None:
    reason = {"reviewReason": "PERMANENT_ERROR"}
    told = [await done(scene, claim, "open-review", **reason) for claim in (FIRST, SECOND, FIRST, SECOND)]
    assert told[0] == told[2] != told[1] == told[3]
    async with scene.store.reading() as tx:
        assert [len(await tx.reviews.of_claim(claim)) for claim in (FIRST, SECOND)] == [1, 1]


async def test_each_claim_gets_its_own_notice_and_once(scene: Scene) -> None:
    for claim in (FIRST, SECOND, FIRST, SECOND):
        await done(scene, claim, "notify")
    async with scene.store.reading() as tx:
        assert [len(await tx.notices.of_claim(claim)) for claim in (FIRST, SECOND)] == [1, 1]


async def test_each_claim_gets_its_own_decision_and_once(scene: Scene) -> None:
    failed = {"submissionError": "TIMEOUT", "retryCount": 0}
    for claim in (FIRST, SECOND, FIRST, SECOND):
        await done(scene, claim, "retry-submission-backoff", **failed)
    async with scene.store.reading() as tx:
        assert [await tx.decisions.count(claim) for claim in (FIRST, SECOND)] == [1, 1]
