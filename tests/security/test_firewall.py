"""A firewall that refuses one file stops its payer once; then the file is set aside and the payer goes on."""

import pytest

from domain.payer_status import PayerLimits, PayerState
from domain.submission import Accepted, AccessDenied, SendResult
from gateways.tiss.judgement import HttpAnswer, judge_submission
from persistence.store import Store
from tests.support.payer_stage import PAYER, Scene
from tests.support.tiss_samples import lote
from workers.runtime import Complete, Incident, Throw

PAGE = b"<html><body>Request blocked. Support ID: 1234567890</body></html>"


def judged(status: int, body: bytes = PAGE) -> SendResult:
    return judge_submission(HttpAnswer(status, body), lote())


FORBIDDEN, UNAUTHORIZED = judged(403), judged(401)


@pytest.fixture
def scene(store: Store) -> Scene:
    return Scene(store, limits=PayerLimits(per_minute=None))


async def refused_once(scene: Scene, answer: SendResult = FORBIDDEN) -> None:
    """Others are taken, then the file is refused, and a person resumes the payer."""
    assert isinstance(await scene.submit(1), Complete)
    scene.answer = answer
    assert isinstance(await scene.submit(2), Incident)
    assert (await scene.status()).state is PayerState.STOPPED
    await scene.orders.resume(PAYER, scene.moment)


async def test_a_file_refused_again_while_others_are_taken_is_set_aside_alone(scene: Scene) -> None:
    await refused_once(scene)
    scene.answer = Accepted("P-3")
    assert isinstance(await scene.submit(3), Complete)
    scene.answer = FORBIDDEN
    outcome = await scene.submit(2)
    assert isinstance(outcome, Throw)
    assert outcome.code == "SUBMISSION_FAILED"
    assert outcome.variables["submissionErrorCode"] == "HTTP:403"
    assert "this file alone" in outcome.variables["submissionError"]
    assert (await scene.status()).state is PayerState.CLOSED
    scene.answer = Accepted("P-4")
    assert isinstance(await scene.submit(4), Complete)


async def test_while_nothing_else_was_taken_it_may_be_us_and_the_payer_stops_again(scene: Scene) -> None:
    await refused_once(scene)
    assert isinstance(await scene.submit(2), Incident)
    assert (await scene.status()).state is PayerState.STOPPED


async def test_another_file_that_is_refused_stops_the_payer(scene: Scene) -> None:
    await refused_once(scene)
    scene.answer = Accepted("P-3")
    await scene.submit(3)
    scene.answer = FORBIDDEN
    assert isinstance(await scene.submit(4), Incident)
    assert (await scene.status()).state is PayerState.STOPPED


@pytest.mark.parametrize(
    "answer",
    [UNAUTHORIZED, AccessDenied("UNAUTHORIZED - login or password is wrong", "FAULT:LoginInvalido")],
)
async def test_a_refused_login_always_stops_the_payer(scene: Scene, answer: SendResult) -> None:
    await refused_once(scene, answer)
    scene.answer = Accepted("P-3")
    await scene.submit(3)
    scene.answer = answer
    assert isinstance(await scene.submit(2), Incident)
    assert (await scene.status()).state is PayerState.STOPPED


async def test_the_incident_says_how_to_tell_a_firewall_from_refused_credentials(scene: Scene) -> None:
    scene.answer = FORBIDDEN
    outcome = await scene.submit(2)
    assert isinstance(outcome, Incident)
    assert "a web page" in outcome.message
    assert "set aside" in outcome.message
    scene.answer = UNAUTHORIZED
    await scene.orders.resume(PAYER, scene.moment)
    other = await scene.submit(2)
    assert isinstance(other, Incident)
    assert "set aside" not in other.message
