"""Other processes with our claim's id: no incident of theirs stands on our claim, and no end."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.observations import IncidentElsewhere, Observation
from domain.refusals import ClaimRefusal
from domain.submission import Failed
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from persistence.repositories.claims import ClaimRow
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.faults.messages import MessageBroker, message_broker
from tests.support.payer_stage import PAYER, Scene
from tests.support.services import services
from workers.claims.incidents import StuckClaims
from workers.claims.messages import ClaimMessages
from workers.jobs import wrapped
from workers.jobs.decisions import retry_submission_backoff
from workers.runtime import Job, Throw

CLAIM = "CLM-D-1"
OURS, THEIRS = 1, 777
DECIDES = "retry-submission-backoff"


@pytest.fixture
async def scene(store: Store) -> Scene:
    """Our claim waits for its second send."""
    scene = Scene(store, answer=Failed("SERVICE_UNAVAILABLE - 503", "HTTP:503"))
    assert isinstance(await scene.submit(1), Throw)
    await scene.handler(DECIDES).handle(job(2, OURS, submissionError="TIMEOUT", retryCount=0))
    return scene


@pytest.fixture
async def broker() -> AsyncIterator[MessageBroker]:
    async with message_broker() as broker:
        yield broker


@pytest.fixture
async def commands(broker: MessageBroker) -> AsyncIterator[ZeebeCommands]:
    async with open_channel(Plaintext(broker.address)) as channel:
        yield ZeebeCommands(channel)


def job(key: int, instance: int, job_type: str = DECIDES, **variables: object) -> Job:
    given = {"claimId": CLAIM, "payerId": PAYER} | variables
    return Job(key, job_type, "Task", instance, 1, {}, given, element_instance_key=43)


async def stuck(scene: Scene, given: Job, message: str = "a person must look") -> None:
    await scene.handler(given.type).on_incident(given, message)


async def claim(scene: Scene) -> ClaimRow:
    async with scene.store.reading() as tx:
        row = await tx.claims.find(CLAIM)
    assert row
    return row


@pytest.mark.parametrize("job_type", [DECIDES, "analyze-retry", "notify", "submit-claim"])
async def test_an_incident_of_another_process_is_not_our_claims(
    scene: Scene, commands: ZeebeCommands, job_type: str
) -> None:
    await stuck(scene, job(3, THEIRS, job_type))
    assert (await claim(scene)).incident is None
    assert await ClaimMessages(scene.store, commands).retry_now(ClaimId(CLAIM))
    async with scene.store.reading() as tx:
        assert "incident" not in [entry.event for entry in await tx.journal.of_claim(CLAIM)]


async def test_an_incident_that_no_claim_of_ours_keeps_is_told_to_who_watches(scene: Scene) -> None:
    told: list[Observation] = []
    watched = services(scene.store, observe=told.append)
    handler = wrapped(retry_submission_backoff(watched), watched)
    await handler.on_incident(job(3, OURS), "a person must look")
    assert told == []
    await handler.on_incident(job(4, THEIRS), "a person must look")
    await handler.on_incident(job(5, THEIRS, claimId=None), "a person must look")
    assert told == [IncidentElsewhere(DECIDES)] * 2


async def test_an_incident_of_another_process_does_not_hide_our_claims_own(scene: Scene) -> None:
    await stuck(scene, job(3, OURS))
    await stuck(scene, job(4, THEIRS))
    incident = (await claim(scene)).incident
    assert incident
    assert (incident.key, incident.process_instance_key) == (3, OURS)


async def test_a_claim_that_was_not_sent_yet_has_the_incident_of_its_send_alone(store: Store) -> None:
    scene = Scene(store)
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, PAYER, ClaimState.WAITING, now=NOW)  # by a version that kept no process
    await stuck(scene, job(3, THEIRS))
    assert (await claim(scene)).incident is None
    await stuck(scene, job(4, OURS, "submit-claim"))
    await stuck(scene, job(5, THEIRS, "submit-claim"))
    incident = (await claim(scene)).incident
    assert incident
    assert incident.process_instance_key == OURS


async def test_a_claim_whose_own_process_is_gone_is_closed_and_whoever_waits_for_it_is_told(
    scene: Scene, commands: ZeebeCommands, broker: MessageBroker
) -> None:
    await stuck(scene, job(3, OURS))
    await StuckClaims(scene.store, commands).cancel(await claim(scene), NOW, although_sent=False)
    assert (await claim(scene)).state is ClaimState.CANCELLED
    assert [(told.name, told.correlationKey) for told in broker.taken] == [("claim-cancelled", CLAIM)]


async def test_a_claim_is_not_closed_because_another_process_is_gone(
    scene: Scene, commands: ZeebeCommands
) -> None:
    await stuck(scene, job(3, OURS))
    seen = await claim(scene)
    assert seen.incident
    theirs = replace(seen, incident=replace(seen.incident, process_instance_key=THEIRS))
    with pytest.raises(ClaimRefusal, match="another process"):
        await StuckClaims(scene.store, commands).cancel(theirs, NOW, although_sent=False)
    assert (await claim(scene)).state is ClaimState.WAITING


async def test_a_send_that_was_held_tells_whose_the_claim_is_too(store: Store) -> None:
    scene = Scene(store)
    await scene.fail_twice()
    assert isinstance(await scene.submit(1), Throw)
    assert CLAIM not in scene.sent
    assert (await claim(scene)).process_instance_key == OURS
