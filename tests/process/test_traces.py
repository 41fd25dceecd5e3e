"""One claim, one trace: through retries and hours of waiting, and across workers."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

from domain.claim_state import ClaimState
from gateways.engine_clock import EngineClock
from gateways.practice.scripted import AcceptLine, FailLine
from gateways.zeebe import engine
from persistence.database.engine import sqlite_url
from tests.process.hospital import NAME, PATIENT, claim_file, claim_id, open_hospital
from tests.process.records import Records
from tests.process.stage import Payers, Stage, eventually
from tests.support.collector import Collector, SeenSpan, collecting
from tests.support.tiss_samples import CARD
from workers.app.cluster import embedded
from workers.app.composition import running
from workers.app.databases import migrate_database
from workers.claims.examination import ClaimFile
from workers.config.settings import Settings
from workers.config.telemetry import TelemetrySettings

TIMEOUT = FailLine(error="TIMEOUT - Connection timeout after 30s")
SEND, DECIDE = "job submit-claim", "job retry-submission-backoff"
SENT = {"payer send", "database shared write"}
WAKING = {"database write"}  # whoever waits may go meanwhile
DECIDED = {"decision", "database shared write"}
REFUSED = "77925"


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
    jobs = [span for span in spans if span.name.startswith("job ")]
    assert {span.trace_id for span in spans} == {jobs[0].trace_id}
    assert [job.name for job in jobs] == [SEND, DECIDE, SEND, DECIDE, SEND, DECIDE, SEND]
    lost, first, *later = jobs  # what the first job left its process stayed on the boundary event
    assert (lost.parent_id, first.parent_id) == ("", "")
    assert {job.parent_id for job in later} == {first.span_id}
    parts = [parts_of(job, spans) - WAKING for job in jobs]
    assert parts == [SENT, DECIDED, SENT, DECIDED, SENT, DECIDED, SENT]
    assert [job.attributes["reenvio.outcome"] for job in jobs] == ["throw", "complete"] * 3 + ["complete"]
    assert collector.resource()["service.name"] == "reenvio"
    assert collector.resource()["service.version"] == version("reenvio")


async def test_a_claim_that_was_handed_in_is_one_trace_from_its_file_to_the_mail_about_it(
    broker: engine.RunningEngine, broker_config: engine.EngineConfig, tmp_path: Path
) -> None:
    with collecting() as collector:
        telemetry = TelemetrySettings(exporter_otlp_endpoint=collector.endpoint)
        opened = open_hospital(broker, broker_config.home, tmp_path, telemetry=telemetry)
        async with opened as hospital, hospital.working():
            await hospital.app.intake.submit(ClaimFile(claim_file(REFUSED)))
            await hospital.reaches(claim_id(REFUSED), ClaimState.IN_REVIEW)
            await eventually(partial(mail_in, tmp_path / "mail"), "the mail about it")
    spans = of_claim(collector, claim_id(REFUSED))
    [root] = [span for span in spans if not span.parent_id]
    by_id = {span.span_id: span for span in spans}
    assert {span.trace_id for span in spans} == {root.trace_id}
    assert root.name == "claim-ready"
    ways = {" < ".join(way(span, by_id)) for span in spans}
    assert ways >= {
        "soap exchange < payer send < job submit-claim < claim-ready",
        "decision < job retry-submission-backoff < claim-ready",
        "job open-review < claim-ready",
        "mail send < job send-email < email-queued < job notify < claim-ready",
    }
    assert not [secret for secret in (PATIENT, NAME, CARD, "billing") if secret in collector.text()]


def way(span: SeenSpan, by_id: Mapping[str, SeenSpan]) -> Iterator[str]:
    """The names from a span up to its root."""
    yield span.name
    if span.parent_id:
        yield from way(by_id[span.parent_id], by_id)


async def mail_in(folder: Path) -> bool | None:
    return await asyncio.to_thread(lambda: any(folder.glob("*"))) or None


def parts_of(job: SeenSpan, spans: Iterable[SeenSpan]) -> set[str]:
    """The names of what was done for a job."""
    return {span.name for span in spans if span.parent_id == job.span_id and not span.name.startswith("job ")}


def of_claim(collector: Collector, claim_id: str) -> list[SeenSpan]:
    """All spans of the traces in which the claim is named."""
    spans = collector.spans()
    traces = {span.trace_id for span in spans if span.attributes.get("reenvio.claim.id") == claim_id}
    return [span for span in spans if span.trace_id in traces]
