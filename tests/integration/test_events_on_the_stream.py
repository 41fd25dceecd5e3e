"""Every type of event, as real jobs on real databases leave it, fits its schema."""

import json
from dataclasses import replace
from typing import Any

from domain.submission import Accepted, Failed, Submission
from gateways.event_schemas import event_types
from gateways.practice.mail_server import Mailbox, Reply
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.mail_stage import mail_stage
from tests.support.mails import CONTENT, a_mail
from tests.support.payer_stage import PAYER, Scene
from tests.support.real_events import MANY, checked_events
from workers.payers.cancelled import note_cancelled
from workers.runtime import Job, Outcome

REFUSED = Failed("GUIA_INVALIDA", "1801")
TIMEOUT = {"submissionError": "TIMEOUT", "retryCount": 0}
SPENT = {"submissionError": "TIMEOUT", "retryCount": 5}
PERMANENT = {"submissionError": "INVALID_PROCEDURE_CODE - unknown code", "retryCount": 0}
REVIEW = {"reviewReason": "PERMANENT_ERROR", "responsibleTeam": "REGISTRATION"}


async def deliver(scene: Scene, job_type: str, number: int, key: int, **given: Any) -> Outcome:
    """A job of the claim's process, as the engine hands it out."""
    headers = {"outcome": given.pop("outcome")} if "outcome" in given else {}
    variables = {"claimId": f"CLM-D-{number}", "payerId": PAYER} | given
    return await scene.handler(job_type).handle(Job(key, job_type, "Task", number, 3, headers, variables))


async def decide(scene: Scene) -> None:
    """Both rules, each with each of its ends, and input that breaks a rule."""
    for number, job_type in enumerate(("retry-submission-backoff", "analyze-retry"), 500):
        for key, error in enumerate((TIMEOUT, SPENT, PERMANENT), 10 * number):
            await deliver(scene, job_type, number, key, **error)
        await deliver(scene, job_type, number, 10 * number + 9, submissionError="TIMEOUT", retryCount=-1)


async def in_review(scene: Scene, number: int) -> None:
    scene.answer = REFUSED
    await deliver(scene, "submit-claim", number, 100 * number)
    await deliver(scene, "open-review", number, 100 * number + 1, **REVIEW)
    scene.answer = Accepted(f"P-{number}")


async def end_claims(scene: Scene) -> None:
    """Accepted by its payer, resent after a review, and ended by a person in all three ways."""
    await deliver(scene, "submit-claim", 1, 1)
    await in_review(scene, 2)
    await deliver(scene, "submit-claim", 2, 209, reviewRound=1)
    for number, outcome in enumerate(("ACCEPTED", "CANCELLED", "WRITTEN_OFF"), 3):
        await in_review(scene, number)
        await deliver(scene, "close-claim", number, 100 * number + 2, outcome=outcome, protocolNumber="P-9")


async def move_payer(scene: Scene) -> None:
    await scene.orders.pause(PAYER, NOW, reason="maintenance")
    await scene.orders.resume(PAYER, NOW)


async def send_mail(store: Store) -> None:
    """One that arrives, one about a claim that is refused for good."""
    refuses = Mailbox(script=lambda address, _n: Reply("550 5.1.1 no") if "billing" in address else None)
    arrives = a_mail(2, content=replace(CONTENT, recipient="REGISTRATION"))
    async with mail_stage(store, refuses) as stage:
        await stage.add(a_mail(1, claim_id="CLM-D-1"), arrives)
        await stage.send(a_mail(1).outbox_id)
        await stage.send(arrives.outbox_id)


async def test_every_type_of_event_is_left_by_real_jobs_and_fits_its_schema(store: Store) -> None:
    scene = Scene(store)
    await decide(scene)
    await end_claims(scene)
    await move_payer(scene)
    await send_mail(store)
    await store.run(lambda tx: note_cancelled(tx, Submission("CLM-D-1", PAYER, 2), NOW))
    found = await checked_events(store)
    assert sorted(found) == sorted(event_types())
    assert found["ClaimAcceptedEvent"] == 3
    assert found["ReviewDecidedEvent"] == 4
    assert found["ReviewOpenedEvent"] == 4
    assert found["PayerStateChangedEvent"] == 2


async def test_a_job_that_comes_again_leaves_no_second_event(store: Store) -> None:
    scene = Scene(store)
    for _ in range(2):
        await deliver(scene, "submit-claim", 1, 1)
        await in_review(scene, 2)
        await deliver(scene, "close-claim", 2, 202, outcome="CANCELLED")
    assert await checked_events(store) == {
        "ClaimAcceptedEvent": 1, "ReviewOpenedEvent": 1, "ReviewDecidedEvent": 1, "ClaimCancelledEvent": 1
    }  # fmt: skip


async def test_an_event_is_in_the_commit_that_makes_it_true(store: Store) -> None:
    scene = Scene(store)
    await deliver(scene, "submit-claim", 1, 1)
    [event] = await store.look(lambda tx: tx.outbox.unpublished(MANY))
    row = await store.look(lambda tx: tx.claims.find("CLM-D-1"))
    assert row
    told = json.loads(event.payload)
    assert (told["protocolNumber"], told["attempt"]) == (row.protocol_number, 1)
    assert event.created_at == row.updated_at
