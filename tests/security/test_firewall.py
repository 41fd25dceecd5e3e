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
    assert "refused our credentials" not in outcome.message
    assert f"run `reenvio payer resume {PAYER}`, wait until another claim is taken" in outcome.message
    assert "its file is set aside for a person, and the payer goes on" in outcome.message
    assert "Restart every worker" in outcome.message  # it may be us all the same
    scene.answer = UNAUTHORIZED
    await scene.orders.resume(PAYER, scene.moment)
    other = await scene.submit(2)
    assert isinstance(other, Incident)
    assert "refused our credentials" in other.message
    assert "set aside" not in other.message


async def test_an_incident_that_is_retried_while_the_payer_is_stopped_says_the_same(scene: Scene) -> None:
    scene.answer = FORBIDDEN
    first, again = await scene.submit(2), await scene.submit(2)
    assert isinstance(first, Incident)
    assert again == first
    assert scene.sent == ["CLM-D-2"]


@pytest.mark.parametrize("answer", [FORBIDDEN, UNAUTHORIZED])
async def test_a_claim_that_is_held_does_not_show_what_was_said_of_another(
    scene: Scene, answer: SendResult
) -> None:
    scene.answer = answer
    await scene.submit(1)
    held = await scene.submit(2)
    assert isinstance(held, Throw)
    claim = await scene.store.look(lambda tx: tx.claims.find("CLM-D-2"))
    assert claim
    for told in (held.message, held.variables["payerUnavailableReason"], claim.reason or ""):
        assert "have stopped by its answer to another claim" in told
        assert "this file" not in told
    assert "this file" in (await scene.status()).reason or answer is UNAUTHORIZED
