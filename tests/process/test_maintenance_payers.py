"""MAINTENANCE_PAYERS on a broker of its own, where nobody but its timer asks for it."""

import dataclasses
from datetime import timedelta
from pathlib import Path

import pytest

from bpmn.names import ProcessId
from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.payer_status import PayerState
from gateways.practice.simulator.scenario import Http, Outage, PayerScenario
from gateways.zeebe import engine
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from gateways.zeebe.refusals import CommandRefusedError
from tests.process.hospital import claim_file, claim_id
from tests.process.payer_line import Lines, Payer
from tests.process.records import Records
from tests.process.stage import Claim, Stage, eventually
from tests.support.tiss_samples import PAYER
from workers.claims.examination import ClaimFile

WELL = PayerScenario(registro_ans=PAYER)
DOWN = PayerScenario(registro_ans=PAYER, outages=(Outage(end=timedelta(days=99), then=Http(status=503)),))
HELD_FOR_AN_HOUR = "breaker.failures = 1\nbreaker.first_wait_minutes = 60\n"
LOST = "29001"


@pytest.fixture
def lines(own_broker: engine.RunningEngine, own_config: engine.EngineConfig, tmp_path: Path) -> Lines:
    return Lines(own_broker, Records(own_config.log_file), tmp_path)


async def turn(stage: Stage, process: ProcessId, cycle: timedelta) -> list[str]:
    """Let the time of one cycle pass; what the instance that the timer started has completed."""
    assert stage.records.ended(process) == []
    await stage.clock.advance(cycle + timedelta(seconds=1))

    async def look() -> int | None:
        return next(iter(stage.records.ended(process)), None)

    return stage.records.completed(await eventually(look, f"{process} to run"))


async def receive_without_starting(stage: Stage) -> str:
    """A claim whose row is kept and whose message got lost on its way to the engine."""
    async with open_channel(Plaintext("127.0.0.1:1")) as nowhere:
        away = dataclasses.replace(stage.app.intake, commands=ZeebeCommands(nowhere))
        with pytest.raises(CommandRefusedError):
            await away.submit(ClaimFile(claim_file(LOST)))
    return claim_id(LOST)


async def held_by_an_outage(payer: Payer) -> Claim:
    """A claim that waits an hour for its payer, and has sent nothing."""
    await payer.claim()
    await payer.reaches(PayerState.OPEN)
    held = await payer.claim()
    row = await payer.stage.reaches(held, ClaimState.WAITING, retry_count=0)
    assert row.next_retry_time
    assert row.next_retry_time - await payer.stage.clock.now() > timedelta(minutes=50)
    return held


async def test_every_five_minutes_a_payer_that_is_back_is_found_and_a_lost_start_is_made_good(
    lines: Lines,
) -> None:
    async with lines.to(DOWN, HELD_FOR_AN_HOUR) as payer:
        stage = payer.stage
        held, lost = await held_by_an_outage(payer), await receive_without_starting(stage)
        await payer.line.becomes(WELL)
        assert stage.records.started_for(lost) == set()

        path = await turn(stage, ProcessId.MAINTENANCE_PAYERS, timedelta(minutes=5))
        assert [one for one in path if one.startswith(("Task_", "End_"))] == [
            "Task_ProbePayers", "Task_StartClaims", "End_LookedAfter"
        ]  # fmt: skip
        await stage.reaches(held, ClaimState.ACCEPTED)
        assert "Event_RetryRequested" in await stage.ended(held)
        [instance] = await eventually(lambda: started(stage, lost), f"{lost} to start")
        await stage.reaches(Claim(ClaimId(lost), instance), ClaimState.ACCEPTED)
    assert payer.verdicts(held) == ["taken"]
    assert payer.line.ledger.arrivals(PAYER, LOST) == 1


async def started(stage: Stage, claim: str) -> set[int] | None:
    return stage.records.started_for(claim) or None
