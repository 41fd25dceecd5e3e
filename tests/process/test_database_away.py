"""The database away for half an hour of engine time: claims wait, no incident, no restart."""

import dataclasses
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from domain.claim_state import ClaimState
from gateways.practice.scripted import AcceptLine, FailLine
from gateways.zeebe import engine
from tests.process.stage import Stage, eventually
from tests.support.database_cable import Cable
from tests.support.databases import Postgres
from workers.app.cluster import embedded
from workers.app.composition import running

DOWN = FailLine(error="SERVICE_UNAVAILABLE", code="HTTP:503")
DATABASE = "reenvio_away"


@pytest.fixture
async def cable(postgres: Postgres) -> AsyncIterator[Cable]:
    laid = Cable(await postgres.create(DATABASE, postgres.template))
    await laid.mend()
    yield laid
    await laid.cut()
    await postgres.drop(DATABASE)


@pytest.fixture
async def remote(stage: Stage, broker: engine.RunningEngine, cable: Cable) -> AsyncIterator[Stage]:
    """The stage on PostgreSQL at the far end of the cable, with a worker on it."""
    settings = stage.settings.model_copy(update={"database_url": cable.url})
    async with running(settings, embedded(broker)) as app:
        there = dataclasses.replace(stage, app=app, settings=settings)
        async with there.worker():
            yield there


async def test_half_an_hour_without_database_costs_no_incident_and_no_restart(
    remote: Stage, cable: Cable
) -> None:
    waiting = await remote.start(DOWN, AcceptLine())
    await remote.reaches(waiting, ClaimState.WAITING)
    await cable.cut()
    due = [await remote.start(AcceptLine()) for _ in range(5)]
    for _ in range(30):
        await remote.clock.advance(timedelta(minutes=1))
    await told_to_wait(remote, due[0].instance)
    assert not await remote.app.store.answers()
    await cable.mend()
    for claim in (waiting, *due):
        await accepted(remote, claim.instance)
    assert not any(remote.records.of_instance(c.instance, "INCIDENT", "CREATED") for c in (waiting, *due))


async def told_to_wait(stage: Stage, instance: int) -> None:
    """Wait until a job of the instance was given back, with all its retries."""

    async def look() -> bool | None:
        failed = stage.records.of_instance(instance, "JOB", "FAILED")
        return all(job.value["retries"] == 3 for job in failed) if failed else None

    assert await eventually(look, "a job that waits")


async def accepted(stage: Stage, instance: int) -> None:
    """Let engine time pass until the instance has ended with the claim accepted."""

    async def look() -> bool | None:
        await stage.clock.advance(timedelta(seconds=5))
        return "End_ClaimAccepted" in stage.records.completed(instance) or None

    await eventually(look, "the claim to be accepted")
