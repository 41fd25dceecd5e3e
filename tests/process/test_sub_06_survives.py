"""SUB_06 when processes die: every claim goes on from where the engine holds it."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

from domain.claim_state import ClaimState
from domain.submission import Accepted, Duplicate, SendResult, Submission
from gateways.practice.scripted import AcceptLine, FailLine, Script
from gateways.zeebe import engine
from tests.process.stage import Stage, restart
from tests.support.command_line import environment
from workers.demo.worker_process import WorkerProcess

TIMEOUT = FailLine(error="TIMEOUT - Connection timeout after 30s")


async def test_a_worker_killed_during_a_wait_changes_nothing(
    stage: Stage, broker_config: engine.EngineConfig, tmp_path: Path
) -> None:
    claim = await stage.start(TIMEOUT, AcceptLine())
    worker = _worker_process(stage, broker_config, tmp_path)
    worker.start()
    try:
        waiting = await stage.reaches(claim, ClaimState.WAITING, retry_count=1)
        await stage.completes(claim, "Task_DecideRetry")  # our commit comes before the engine's
        worker.kill()
        await stage.pass_the_wait(claim)
        assert await stage.row(claim) == waiting

        worker.start()
        await stage.reaches(claim, ClaimState.ACCEPTED)
    finally:
        worker.stop()
    assert await stage.events(claim) == ["failed", "retry_scheduled", "accepted"]
    assert (await stage.ended(claim))[-1] == "End_ClaimAccepted"


async def test_a_broker_restarted_while_claims_wait_keeps_their_timers(
    stage: Stage, broker_config: engine.EngineConfig
) -> None:
    async with stage.worker():
        claim = await stage.start(TIMEOUT, AcceptLine())
        waiting = await stage.reaches(claim, ClaimState.WAITING, retry_count=1)

        await asyncio.to_thread(restart, broker_config)

        assert await stage.row(claim) == waiting
        await stage.pass_the_wait(claim)
        await stage.reaches(claim, ClaimState.ACCEPTED)
        assert stage.payers.sends(claim.id) == 2


async def test_a_worker_that_dies_in_the_middle_of_a_send_does_not_send_blindly_again(stage: Stage) -> None:
    payer = PayerThatNeverAnswersTheFirst()
    claim = await stage.start()
    async with stage.worker(payer):
        await payer.first_arrived.wait()
        assert payer.sender is not None
        payer.sender.cancel()
    await stage.clock.advance(timedelta(minutes=6))
    async with stage.worker(payer):
        row = await stage.reaches(claim, ClaimState.IN_REVIEW)
    assert row.reason == "PROTOCOL_MISSING"
    assert payer.ledger == [claim.id.value]


class PayerThatNeverAnswersTheFirst:
    """Takes the first send and dies with it; later sends are duplicates."""

    def __init__(self) -> None:
        self.ledger: list[str] = []
        self.first_arrived = asyncio.Event()
        self.sender: asyncio.Task[object] | None = None

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        """Keep the claim; answer only to those who ask again."""
        if submission.claim_id in self.ledger:
            return Duplicate()
        self.ledger.append(submission.claim_id)
        self.sender = asyncio.current_task()
        self.first_arrived.set()
        await asyncio.Event().wait()
        return Accepted("unreachable")


def _worker_process(stage: Stage, config: engine.EngineConfig, folder: Path) -> WorkerProcess:
    script = folder / "script.json"
    script.write_text(Script(answers=stage.payers.answers).model_dump_json(), encoding="utf-8")
    given = {
        "ENGINE_HOME": str(config.home),
        "DATABASE_URL": stage.settings.database,
        "PAYER_SCRIPT": str(script),
    }
    return WorkerProcess(environment(stage.settings.home, **given), folder / "worker.log")
