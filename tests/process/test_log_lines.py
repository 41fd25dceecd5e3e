"""The log of a real worker on a real broker: every line that the documents show, with all their fields."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bpmn.names import ProcessId
from domain.claim import ClaimId
from gateways.practice.mail_server import Mailbox, MailStep, Reply, mail_server
from gateways.practice.scripted import FailLine, Script
from gateways.zeebe import engine
from tests.process.stage import Claim, Stage, eventually
from tests.support.collector import collecting
from tests.support.command_line import environment
from workers.demo.worker_process import WorkerProcess

UNAVAILABLE = FailLine(error="SERVICE_UNAVAILABLE - come back later")
BILLING = "billing@hospital.example"
IDS = {"event", "level", "timestamp", "claim", "instance", "job", "trace_id"}
BIL_004 = {
    *("event", "claimId", "submissionError", "retryCount", "errorClassification"),
    *("backoffMinutes", "nextRetryTime", "timestamp"),
}
BIL_005 = BIL_004 | {"maxRetries", "executionTimeMs"}
MAIL = {
    *("level", "message", "jobId", "companyId", "attempt", "maxAttempts", "errorCode", "errorReason"),
    *("nextRetryDelay", "isRetryable", "timestamp"),
}


@dataclass(frozen=True)
class Written:
    """A worker that works, and the file into which it logs."""

    stage: Stage
    file: Path
    claims: tuple[ClaimId, ClaimId]

    async def start(self, number: int, **variables: Any) -> Claim:
        """Start a claim whose payer is not available."""
        return await self.stage.run(ProcessId.SUB_06, self.claims[number], payerId="payer-1", **variables)

    async def analysis(self, error: str, **variables: Any) -> Claim:
        """Start the second rule's process about an error."""
        return await self.stage.run(ProcessId.SUB_06_ANALYZE, None, submissionError=error, **variables)

    async def line(self, event: str, **fields: Any) -> dict[str, Any]:
        """The first line of this name with these fields, once it is written."""

        async def look() -> dict[str, Any] | None:
            lines = await asyncio.to_thread(self.lines)
            return next((line for line in lines if {"event": event, **fields}.items() <= line.items()), None)

        return await eventually(look, f"{event} {fields}")

    def lines(self) -> list[dict[str, Any]]:
        """All whole lines; one that is no JSON is an error."""
        whole, _, _ = self.file.read_text(encoding="utf-8").rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]


@pytest.fixture
async def written(stage: Stage, broker_config: engine.EngineConfig, tmp_path: Path) -> AsyncIterator[Written]:
    def script(address: str, attempt: int) -> MailStep:
        return Reply("421 4.3.2 service not available") if address == BILLING and attempt == 1 else None

    claims = stage.new_claim_id(), stage.new_claim_id()
    answers = Script(answers={claim.value: (UNAVAILABLE,) for claim in claims})
    (tmp_path / "script.json").write_text(answers.model_dump_json(), encoding="utf-8")
    async with mail_server(Mailbox(script=script)) as mailbox:
        with collecting() as collector:
            given = {
                "ENGINE_HOME": str(broker_config.home),
                "DATABASE_URL": stage.settings.database,
                "PAYER_SCRIPT": str(tmp_path / "script.json"),
                "LOG_FORMAT": "json",
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint,
                "MAIL_SMTP_HOST": "127.0.0.1",
                "MAIL_SMTP_PORT": str(mailbox.port),
                "MAIL_SMTP_SECURITY": "none",
                "MAIL_FROM": "reenvio@hospital.example",
                "MAIL_TO_BILLING_MANAGEMENT": BILLING,
                "MAIL_TO_REGISTRATION": "registration@hospital.example",
                "MAIL_TO_OPERATIONS": "operations@hospital.example",
                "MAIL_TO_ADMINISTRATOR": "admin@hospital.example",
            }
            worker = WorkerProcess(environment(stage.settings.home, **given), tmp_path / "worker.log")
            with working(worker):
                yield Written(stage, tmp_path / "worker.log", claims)


@contextmanager
def working(worker: WorkerProcess) -> Iterator[None]:
    worker.start()
    try:
        yield
    finally:
        worker.stop()


async def test_every_field_of_the_documents_stands_in_the_lines_of_a_real_worker(written: Written) -> None:
    sent = await written.start(0)
    scheduled = await written.line("submission_retry_scheduled", claimId=sent.id.value)
    assert set(scheduled) == BIL_004 | IDS
    assert (scheduled["level"], scheduled["submissionError"]) == ("info", "SERVICE_UNAVAILABLE")
    assert (scheduled["retryCount"], scheduled["errorClassification"]) == (1, "TRANSIENT")
    assert (scheduled["claim"], scheduled["instance"]) == (sent.id.value, sent.instance)

    analyzed = await written.analysis("TIMEOUT", retryCount=1)
    scheduled = await written.line("retry_scheduled", claimId=analyzed.id.value)
    assert set(scheduled) == BIL_005 | IDS
    assert (scheduled["retryCount"], scheduled["maxRetries"]) == (2, 5)

    unknown = await written.analysis("the moon is full")
    warned = await written.line("unknown_error_retried", claimId=unknown.id.value)
    assert (warned["level"], warned["message"]) == ("warn", "Tipo de erro desconhecido, tentando retry")
    assert "moon" not in json.dumps(written.lines())


async def test_spent_retries_and_the_mail_about_them_are_told_in_the_documents_words(
    written: Written,
) -> None:
    spent = await written.start(1, retryCount=5)
    ended = await written.line("max_retries_exceeded", claimId=spent.id.value)
    assert (ended["level"], ended["message"]) == ("error", "Máximo de tentativas excedido")
    failed = await written.line("mail_retry_scheduled", claim=spent.id.value)
    assert set(failed) == MAIL | IDS
    assert failed["trace_id"] == ended["trace_id"]
    assert (failed["level"], failed["message"]) == ("warn", "Job failed, scheduling retry")
    told = {name: failed[name] for name in ("attempt", "maxAttempts", "errorCode", "isRetryable")}
    assert told == {"attempt": 1, "maxAttempts": 5, "errorCode": "421", "isRetryable": True}
    assert failed["companyId"] == "hospital"
    assert 750 <= failed["nextRetryDelay"] <= 1250
    sent = await written.line("mail_sent", claim=spent.id.value)
    assert (sent["companyId"], sent["jobId"]) == ("hospital", failed["jobId"])
    assert BILLING not in json.dumps(written.lines())
