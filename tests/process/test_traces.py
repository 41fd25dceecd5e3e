"""One claim, one trace: through retries and hours of waiting, and across workers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from domain.claim_state import ClaimState
from gateways.clock import EngineClock
from gateways.practice.scripted import AcceptLine, FailLine
from gateways.zeebe import engine
from persistence.database.engine import sqlite_url
from tests.process.records import Records
from tests.process.stage import Payers, Stage
from tests.support.collector import Collector, SeenSpan, collecting
from workers.app.cluster import embedded
from workers.app.composition import migrate_database, running
from workers.config.settings import Settings
from workers.config.telemetry import TelemetrySettings

TIMEOUT = FailLine(error="TIMEOUT - Connection timeout after 30s")
SEND, DECIDE = "job submit-claim", "job retry-submission-backoff"


@asynccontextmanager
async def traced_stage(
    broker: engine.RunningEngine, config: engine.EngineConfig, home: Path, **telemetry: object
) -> AsyncIterator[Stage]:
    """A stage whose workers send traces; what has not been sent is when it closes."""
    given = TelemetrySettings.model_validate(telemetry)
    settings = Settings(home=home, database_url=sqlite_url(home / "test.db"), telemetry=given)
    await migrate_database(settings)
    async with running(settings, embedded(broker)) as app:
        await app.deploy()
        clock, records = EngineClock(broker.management_url), Records(config.log_file)
        yield Stage(app, clock, settings, Payers(), records)


async def test_a_claims_spans_are_one_trace_through_three_retries_and_two_workers(
    broker: engine.RunningEngine, broker_config: engine.EngineConfig, tmp_path: Path
) -> None:
    with collecting() as collector:
        there = {"exporter_otlp_endpoint": collector.endpoint}
        async with traced_stage(broker, broker_config, tmp_path, **there) as stage:
            payers = stage.payers
            async with stage.worker():
                claim = await stage.start(TIMEOUT, TIMEOUT, TIMEOUT, AcceptLine())
                await stage.pass_the_wait(claim)
                await stage.reaches(claim, ClaimState.WAITING, retry_count=2)
                await stage.completes(claim, "Task_DecideRetry")
        async with traced_stage(broker, broker_config, tmp_path, **there) as stage, stage.worker(payers):
            await stage.pass_the_wait(claim)
            await stage.reaches(claim, ClaimState.WAITING, retry_count=3)
            await stage.pass_the_wait(claim)
            await stage.ended(claim)
    spans = of_claim(collector, claim.id.value)
    for span in spans:
        print(span)
    assert 0


def of_claim(collector: Collector, claim_id: str) -> list[SeenSpan]:
    """All spans of the traces in which the claim is named."""
    spans = collector.spans()
    traces = {span.trace_id for span in spans if span.attributes.get("reenvio.claim.id") == claim_id}
    return [span for span in spans if span.trace_id in traces]
