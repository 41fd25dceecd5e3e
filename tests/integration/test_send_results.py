"""What submit-claim keeps of a payer's answer, and what a review shows of it."""

from datetime import datetime

import pytest

from domain.claim_state import ClaimState
from domain.submission import Accepted, AnswerLost, Duplicate, Failed, Glosa, SendResult, Submission
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.attempts import AttemptResult
from persistence.repositories.payloads import seal_payload
from persistence.repositories.reviews import Review
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.payer_stage import Scene
from workers.runtime import Complete, Incident, Job, Throw

SPENT = "Maximum of 5 retries exceeded"


@pytest.fixture
def scene(store: Store) -> Scene:
    return Scene(store)


async def test_the_total_and_the_guides_of_glosas_are_kept_and_never_reach_the_engine(
    scene: Scene,
) -> None:
    on_guides = [Glosa("guide", "1801", "PROCEDIMENTO INVÁLIDO", f"GP-{n}") for n in (2, 1, 1)]
    scene.answer = Accepted("P-1", (Glosa("protocol", "1001", "CARTEIRA"), *on_guides), "450.00")
    told = await scene.submit(1)
    assert told == Complete({"protocolNumber": "P-1"})
    async with scene.store.reading() as tx:
        [entry] = await tx.journal.of_claim("CLM-D-1")
        attempt = await tx.attempts.of_job(1, "CLM-D-1")
    assert entry.detail == (
        "send 1, protocol P-1, total 450.00, with glosas: 1001 CARTEIRA (protocol, 1x); "
        "1801 PROCEDIMENTO INVÁLIDO (guide, 3x: GP-1, GP-2)"
    )
    assert attempt
    assert attempt.result
    assert attempt.result["total"] == "450.00"
    assert attempt.result["glosas"][:2] == [
        {"level": "protocol", "code": "1001", "guide": None},
        {"level": "guide", "code": "1801", "guide": "GP-2"},
    ]
    scene.moment = later(hours=25)  # the idempotency record is gone
    assert await scene.submit(1) == told  # what a redelivered job is answered
    assert scene.sent == ["CLM-D-1"]


async def test_of_very_many_guides_the_journal_names_the_first_and_the_attempt_all(scene: Scene) -> None:
    scene.answer = Accepted("P-1", tuple(Glosa("guide", "1801", "X", f"GP-{n:03}") for n in range(12)))
    await scene.submit(1)
    async with scene.store.reading() as tx:
        [entry] = await tx.journal.of_claim("CLM-D-1")
        attempt = await tx.attempts.of_job(1, "CLM-D-1")
    assert entry.detail.endswith("GP-008, GP-009 and 2 more)")
    assert attempt
    assert len((attempt.result or {})["glosas"]) == 12


async def test_what_a_damaged_answer_claims_is_shown_to_the_person_who_looks_for_it(scene: Scene) -> None:
    scene.answer = AnswerLost("SERVER_ERROR - damaged", "NET:ANSWER_HASH", claimed_protocol="900000000007")
    await scene.submit(1)
    scene.answer = Duplicate("TISS:3268")
    assert await scene.submit(1, key=2, retryCount=1) == Complete({"protocolNumber": None})
    variables = {"claimId": "CLM-D-1", "reviewReason": "PROTOCOL_MISSING"}
    await scene.handler("open-review").handle(Job(3, "open-review", "Task", 1, 3, {}, variables))
    async with scene.store.reading() as tx:
        [review] = await tx.reviews.of_claim("CLM-D-1")
    hint = "a damaged answer names protocol 900000000007: ask the payer whether it is right"
    assert review == Review("CLM-D-1", 0, "PROTOCOL_MISSING", hint)


@pytest.mark.parametrize(
    ("given", "shown"),
    [("MAX_RETRIES_EXCEEDED", "ARRIVAL_UNKNOWN"), ("PERMANENT_ERROR", "PERMANENT_ERROR")],
)
async def test_whoever_decides_is_shown_that_the_payer_may_have_it(
    scene: Scene, given: str, shown: str
) -> None:
    scene.answer = AnswerLost("TIMEOUT - no answer", "NET:READ_TIMEOUT")
    await scene.submit(1)
    variables = {"claimId": "CLM-D-1", "reviewReason": given, "retryReason": SPENT}
    await scene.handler("open-review").handle(Job(3, "open-review", "Task", 1, 3, {}, variables))
    async with scene.store.reading() as tx:
        [review] = await tx.reviews.of_claim("CLM-D-1")
        claim = await tx.claims.find("CLM-D-1")
    hint = f"{SPENT}; the payer may have it, an answer was lost: ask the payer before it is sent again"
    assert review == Review("CLM-D-1", 0, shown, hint)
    assert claim
    assert claim.reason == shown


async def test_a_claim_that_the_payer_has_never_shows_as_failed(scene: Scene) -> None:
    scene.answer = AnswerLost("TIMEOUT - no answer", "NET:READ_TIMEOUT")
    await scene.submit(1)
    scene.answer = Duplicate("TISS:3268")
    await scene.submit(1, key=2, retryCount=1)
    async with scene.store.reading() as tx:
        claim = await tx.claims.find("CLM-D-1")
    assert claim
    assert (claim.state, claim.reason) == (
        ClaimState.SUBMITTING,
        "the payer has it; the answer with the protocol was lost",
    )


async def test_a_file_that_cannot_be_opened_is_no_send(scene: Scene) -> None:
    sealed = seal_payload(cipher_of(new_key("another")), "CLM-D-1", b"<x/>")
    async with scene.store.transaction() as tx:
        await tx.payloads.put("CLM-D-1", sealed, now=NOW)
    outcome = await scene.submit(1)
    assert isinstance(outcome, Incident)
    assert "ENCRYPTION_KEYS" in outcome.message
    assert scene.sent == []
    async with scene.store.reading() as tx:
        assert not (await tx.attempts.history("CLM-D-1")).answer_was_lost


@pytest.mark.parametrize(
    "answer",
    [
        Accepted("P-1", total="450.00"),
        Failed("TIMEOUT - nome: Maria\nlater", "HTTP:408"),
        Duplicate("TISS:3268"),
        AnswerLost("SERVER_ERROR - damaged", "NET:ANSWER_HASH", claimed_protocol="900000000007"),
    ],
)
async def test_a_finished_send_is_answered_from_its_facts_when_its_record_is_gone(
    scene: Scene, answer: SendResult
) -> None:
    scene.answer = answer
    told = await scene.submit(1)
    scene.moment, scene.answer = later(hours=25), Accepted("another")
    assert await scene.submit(1) == told
    assert scene.sent == ["CLM-D-1"]


async def test_a_send_that_an_earlier_version_finished_is_answered_as_it_was(scene: Scene) -> None:
    told = Throw("SUBMISSION_FAILED", "TIMEOUT", {"submissionError": "TIMEOUT"})
    async with scene.store.transaction() as tx:
        attempt = await tx.attempts.start("CLM-D-1", 1, now=NOW)
        earlier = AttemptResult(
            "FAILED", {"throw": told.code, "message": "TIMEOUT", "variables": told.variables}
        )
        await tx.attempts.finish("CLM-D-1", attempt, earlier, now=NOW)
    assert await scene.submit(1) == told
    assert scene.sent == []


async def test_an_answer_that_comes_while_a_person_has_the_claim_leaves_it_there_and_is_written_down(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"claimId": "CLM-D-1", "reviewReason": "PROTOCOL_MISSING"}

    async def send(_submission: Submission, _now: datetime) -> SendResult:
        await scene.handler("open-review").handle(Job(9, "open-review", "Task", 1, 3, {}, asked))
        return Accepted("P-1")

    monkeypatch.setattr(scene, "send", send)
    await scene.submit(1)
    async with scene.store.reading() as tx:
        claim = await tx.claims.find("CLM-D-1")
        story = [entry.detail for entry in await tx.journal.of_claim("CLM-D-1")]
    assert claim
    assert (claim.state, claim.protocol_number) == (ClaimState.IN_REVIEW, "P-1")
    assert "send 1, protocol P-1" in story
