"""Real jobs on a real broker, seen from outside: every name of the documents, at the right value."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bpmn.names import JobType, ProcessId
from domain.claim_state import ClaimState
from gateways.engine_clock import EngineClock
from gateways.practice.mail_server import Mailbox, MailStep, Reply, mail_server
from gateways.practice.scripted import AcceptLine, FailLine
from gateways.zeebe import engine
from persistence.database.engine import sqlite_url
from tests.process.records import Records
from tests.process.stage import Payers, Stage, eventually
from tests.support import waiting
from tests.support.models import one_task
from tests.support.scraped import Scrape, free_port, scrape
from workers.app.cluster import embedded
from workers.app.composition import running
from workers.app.databases import migrate_database
from workers.app.serving import serve
from workers.app.telemetry.table import DOCUMENT_03, METRICS, RN_BIL_004, RN_BIL_005
from workers.config.mail import MailSettings
from workers.config.metrics import MetricSettings
from workers.config.settings import ProbeSettings, Settings
from workers.jobs import all_handlers
from workers.runtime import Job

BILLING, PEOPLE = "billing@hospital.example", ("people@hospital.example",)
TROUBLES = {1: Reply("421 4.3.2 later"), 3: Reply("550 5.1.1 no such mailbox")}
DRAWS, GAUGES_SECONDS, SCRAPE_EVERY = 30, 240, 0.5
Expected = Mapping[tuple[str, tuple[tuple[str, str], ...]], float]
OF_OTHERS = {
    name for name in METRICS if name.startswith(("reenvio_redis_", "reenvio_kpi", "reenvio_standing_"))
}
NOTHING_HAPPENED = {
    "reenvio_reports_retried_total",
    "reenvio_reports_given_up_total",
    "reenvio_gateway_failures_total",
    "reenvio_renewals_failed_total",
    "reenvio_events_set_aside_total",
}
"""Told only when there is trouble, under labels that nobody knows before, or by the relay."""


def key(name: str, **labels: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    return name, tuple(sorted(labels.items()))


EXPECTED: Expected = {
    key("submission_retry_total", classification="TRANSIENT", payer="other"): 1,
    key("submission_retry_total", classification="UNKNOWN", payer="none"): 1,
    key("submission_retry_backoff_minutes_count"): 2,
    key("submission_retry_max_exceeded", cause="RETRIES"): 1,
    key("submission_retry_max_exceeded", cause="DEADLINE"): 0,
    key(
        "error_classification_distribution",
        classification="PERMANENT",
        category="INVALID_PROCEDURE_CODE",
        rule="RN-BIL-004",
    ): 2,
    key(
        "error_classification_distribution",
        classification="UNKNOWN_TRANSIENT",
        category="UNKNOWN_ERROR",
        rule="RN-BIL-005",
    ): 1,
    key("retry_analysis_duration_seconds_count", rule="RN-BIL-004"): 5,
    key("retry_analysis_duration_seconds_count", rule="RN-BIL-005"): DRAWS + 5,
    key("retry_scheduled_total", classification="TRANSIENT", payer="none"): DRAWS + 2,
    key("retry_scheduled_total", classification="UNKNOWN_TRANSIENT", payer="none"): 1,
    key("max_retries_exceeded_total", cause="RETRIES"): 1,
    key("permanent_errors_total", category="INVALID_PATIENT_DATA", team="REGISTRATION"): 1,
    key("backoff_duration_minutes_count"): DRAWS + 3,
    key("retry_success_rate", rule="RN-BIL-005"): 1,
    key("retry_success_rate", rule="03", attempt="1"): 1 / 3,
    key("retry_success_rate", rule="03", attempt="2"): 1,
    key("retry_attempts_total", attempt="1"): 3,
    key("retry_attempts_total", attempt="2"): 1,
    key("retry_attempts_total", attempt="5"): 0,
    key("retry_backoff_delay_seconds_count"): 1,
    key("dlq_entries_total"): 1,
    key("dlq_size"): 1,
    key("dlq_age_seconds_count"): 1,
    key("dlq_age_seconds_bucket", le="+Inf"): 1,
    key("dlq_by_error_code", code="550"): 1,
    key("reenvio_mail_failures_total", code="550", fate="died"): 1,
    key("dlq_by_company", company="company-1"): 1,
    key("dlq_by_company", company="other"): 0,
    key("tenant_jobs_processed", company="company-1"): 4,
    key("tenant_rounds_without_processing", company="company-1"): 0,
    key("tenant_consecutive_batch", company="company-1"): 4,
    key("tenant_current_priority", company="company-1"): 5,
    key("reenvio_decisions_total", rule="RN-BIL-004", outcome="retry"): 2,
    key("reenvio_decisions_total", rule="RN-BIL-004", outcome="exhausted"): 1,
    key("reenvio_decisions_total", rule="RN-BIL-004", outcome="permanent"): 2,
    key("reenvio_decisions_total", rule="RN-BIL-005", outcome="retry"): DRAWS + 3,
    key("reenvio_decisions_total", rule="RN-BIL-005", outcome="exhausted"): 1,
    key("reenvio_decisions_total", rule="RN-BIL-005", outcome="permanent"): 1,
    key("reenvio_claims_failed_total", rule="RN-BIL-004"): 4,
    key("reenvio_claims_failed_total", rule="RN-BIL-005"): 3,
    key("reenvio_backoff_at_maximum_total", rule="RN-BIL-005"): 0,
    key("reenvio_input_rejected_total", rule="BIL-005 3.1"): 1,
    key("reenvio_idempotency_hits_total", operation="analyze-retry"): 1,
    key("reenvio_sends_total", payer="other", result="ACCEPTED"): 1,
    key("reenvio_sends_total", payer="other", result="FAILED"): 3,
    key("reenvio_send_duration_seconds_count", payer="other"): 4,
    key("reenvio_claims", state="ACCEPTED"): 1,
    key("reenvio_claims", state="IN_REVIEW"): 2,
    key("reenvio_claims", state="WAITING"): 0,
    key("reenvio_payer_state", payer="other", state="CLOSED"): 1,
    key("reenvio_payer_state", payer="other", state="OPEN"): 0,
    key("reenvio_payer_places", payer="other"): 10_000,
    key("reenvio_payer_places_taken", payer="other"): 0,
    key("reenvio_payer_waiting", payer="other"): 0,
    key("reenvio_mails_total", fate="sent"): 2,
    key("reenvio_mails_total", fate="waits"): 1,
    key("reenvio_mails_total", fate="died"): 1,
    key("reenvio_mail_duration_seconds_count"): 4,
    key("reenvio_mails_waiting"): 0,
    key("reenvio_mail_queue_size", queue="email:send", state="delayed"): 0,
    key("reenvio_mail_queue_size", queue="email:send:dlq", state="failed"): 1,
    key("reenvio_mail_oldest_seconds"): 0,
    key("reenvio_dead_letters", company="company-1"): 1,
    key("reenvio_jobs_done_total", type="submit-claim", outcome="complete"): 1,
    key("reenvio_jobs_done_total", type="submit-claim", outcome="throw"): 3,
    key("reenvio_jobs_expired_total", type="submit-claim"): 0,
}


def wrong(found: Scrape) -> dict[str, tuple[float, float | None]]:
    """What is not as expected: expected and found."""
    pairs = {wanted: (at, found.value(wanted[0], **dict(wanted[1]))) for wanted, at in EXPECTED.items()}
    return {
        f"{name}{dict(labels)}": (at, value)
        for (name, labels), (at, value) in pairs.items()
        if value is None or value != pytest.approx(at)
    }


def missing(found: Scrape) -> set[str]:
    """Names of the table that nobody tells, though they should be told by now."""
    return set(METRICS) - OF_OTHERS - NOTHING_HAPPENED - found.names


@asynccontextmanager
async def served(
    broker: engine.RunningEngine, config: engine.EngineConfig, settings: Settings
) -> AsyncIterator[Stage]:
    """A worker with its probes, as `reenvio work` runs it."""
    await migrate_database(settings)
    payers, stop = Payers(), asyncio.Event()
    async with running(settings, embedded(broker)) as opened:
        app = dataclasses.replace(opened, payer=payers)
        await app.deploy()
        serving = asyncio.create_task(serve(app, frozenset(JobType), stop))
        clock, records = EngineClock(broker.management_url), Records(config.log_file)
        yield Stage(app, clock, settings, payers, records)
        stop.set()
        await serving


def settings_of(home: Path, mail_port: int) -> Settings:
    return Settings(
        home=home,
        database_url=sqlite_url(home / "test.db"),
        probes=ProbeSettings(port=free_port()),
        metrics=MetricSettings(refresh_seconds=1),
        mail=MailSettings(
            smtp_host="127.0.0.1",
            smtp_port=mail_port,
            smtp_security="none",
            sender="reenvio@hospital.example",
            to_registration=PEOPLE,
            to_billing_management=(BILLING,),
            to_operations=PEOPLE,
            to_administrator=PEOPLE,
            company_id="company-1",
        ),
    )


@pytest.mark.timeout(900)
async def test_every_documented_name_is_on_metrics_at_the_right_value(
    own_broker: engine.RunningEngine, own_config: engine.EngineConfig, tmp_path: Path
) -> None:
    def script(address: str, attempt: int) -> MailStep:
        return TROUBLES.get(attempt) if address == BILLING else None

    async with mail_server(Mailbox(script=script)) as mailbox:
        settings = settings_of(tmp_path, mailbox.port)
        async with served(own_broker, own_config, settings) as stage:
            await claims(stage, mailbox)
            await decisions(stage, tmp_path)
            await repeated(stage)
            port = settings.probes.port
            assert port

            found = await all_seen(port)
            assert {one.name for one in (*RN_BIL_004, *RN_BIL_005, *DOCUMENT_03)} <= found.names
            assert 300 <= 60 * (found.value("submission_retry_backoff_minutes_sum") or 0) <= 720
            assert 0 <= (found.value("reenvio_jitter_deviation_ratio", rule="RN-BIL-005") or 0) < 2
            assert (found.value("reenvio_database_duration_seconds_count", kind="write") or 0) > 10
            assert "CLM-" not in str(found.samples)


async def all_seen(port: int) -> Scrape:
    """A scrape with nothing wrong or missing; after some minutes an error that says what is.

    A gauge that is dear to read is read every 20 s, and later where a busy machine did not answer in time.
    """
    latest: list[Scrape] = []

    async def look() -> bool:
        await asyncio.sleep(SCRAPE_EVERY)
        latest[:] = [await scrape(port)]
        return not (wrong(latest[0]) or missing(latest[0]))

    try:
        await waiting.eventually(look, GAUGES_SECONDS)
    except TimeoutError:
        found = latest[0]
        pytest.fail(f"expected and found: {wrong(found)}; missing: {missing(found)}", pytrace=False)
    return latest[0]


async def claims(stage: Stage, mailbox: Mailbox) -> None:
    """One claim is taken at its second send; two are refused, and of their notices one waits, one dies.

    The second is not refused before the first's notice has arrived, or that would meet the other's trouble.
    """
    taken = await stage.start(FailLine(error="SERVICE_UNAVAILABLE"), AcceptLine())
    await stage.pass_the_wait(taken)
    await stage.reaches(taken, ClaimState.ACCEPTED)
    for attempts in (2, 3):
        refused = await stage.start(FailLine(error="INVALID_PROCEDURE_CODE"))
        await stage.reaches(refused, ClaimState.IN_REVIEW)

        async def tried(attempts: int = attempts) -> bool | None:
            return mailbox.attempts[BILLING] == attempts or None

        await eventually(tried, f"{attempts} attempts to send notices")


async def decisions(stage: Stage, folder: Path) -> None:
    """Retries that nobody understood, spent ones, permanent and rejected ones, under both rules."""
    model = one_task(folder, "Alone", JobType.RETRY_SUBMISSION_BACKOFF, {})
    await stage.app.commands.deploy(model)
    await stage.run("Alone", submissionError="strange words", retryCount=0)
    await stage.run("Alone", submissionError="TIMEOUT", retryCount=5)
    for error, count in (
        *(("TIMEOUT", 4) for _ in range(DRAWS)),
        ("TIMEOUT - Connection timeout after 30s", 1),
        ("strange words", 0),
        ("TIMEOUT", 5),
        ("INVALID_PATIENT_DATA", 0),
        ("TIMEOUT", -1),
    ):
        await stage.run(ProcessId.SUB_06_ANALYZE, submissionError=error, retryCount=count)


async def repeated(stage: Stage) -> None:
    """A job that is delivered twice."""
    [handler] = [one for one in all_handlers(stage.app.services()) if one.type == JobType.ANALYZE_RETRY]
    variables = {"claimId": stage.new_claim_id().value, "submissionError": "TIMEOUT", "retryCount": 0}
    for _ in range(2):
        await handler.handle(Job(77, handler.type, "Task", 1, 3, {}, variables))
