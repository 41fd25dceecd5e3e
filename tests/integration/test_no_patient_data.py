"""A dump of the whole database after a run with personal data in every text: none of it is in there."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from domain.submission import AccessDenied, AnswerLost, Failed, PayerGateway, SendResult, Submission
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.legal_holds import LegalHold
from persistence.store import Store
from persistence.tables import metadata
from tests.support.builders import NOW
from tests.support.foreign_texts import SECRETS as FOREIGN
from tests.support.foreign_texts import TEXTS
from tests.support.intake_stage import DERIVED, intake_stage
from tests.support.patients import CPF, DIGITS, ERROR, SECRETS, dump, patients_file
from tests.support.services import services
from tests.support.spans import KeptSpans
from workers.app.correlation import correlated, naming_its_job
from workers.app.observation_logs import log_observation
from workers.app.observers import all_of
from workers.claims.examination import ClaimFile
from workers.jobs import all_handlers
from workers.runtime import Job, JobHandler
from workers.runtime.outcome import incident_of


class LeakyPayer:
    """Quotes the patient in everything it says."""

    def __init__(self, error: str = ERROR) -> None:
        self._error = error

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        error = self._error
        answers = (AnswerLost(error, "HTTP:503", payer_down=True), Failed(error, f"TISS:{CPF}"))
        answered = submission.attempt <= len(answers)
        return answers[submission.attempt - 1] if answered else AccessDenied(error, said=error)


class Noon:
    """Always the same time."""

    async def now(self) -> datetime:
        return NOW


def variables(key: int, job_type: str, error: str = ERROR) -> dict[str, Any]:
    about = {"claimId": DERIVED, "payerId": "p", "retryCount": key % 7}
    if job_type == "open-review":
        return about | {"reviewReason": "PERMANENT_ERROR", "submissionError": error, "retryReason": error}
    return about | {"submissionError": error, "submissionErrorCode": "HTTP:503"}


@pytest.mark.parametrize("secret", SECRETS)
def test_the_error_and_the_file_of_this_test_do_hold_them(secret: str) -> None:
    assert secret in ERROR or secret == DIGITS
    assert secret.encode("iso-8859-1") in patients_file() or secret == CPF


async def test_no_personal_data_is_kept_in_clear(store: Store, database: AsyncEngine, tmp_path: Path) -> None:
    async with intake_stage(store, tmp_path) as stage:
        await stage.intake.submit(ClaimFile(patients_file()))
        cipher = stage.intake.cipher
    await store.run(lambda tx: tx.holds.place(LegalHold(DERIVED, ERROR, NOW)))
    spans = KeptSpans()
    handlers = traced(spans, store, cipher, LeakyPayer())
    types = ("submit-claim", "retry-submission-backoff", "analyze-retry", "open-review")
    for key in range(28):
        for handler in handlers:
            if handler.type in types:
                given = variables(key, handler.type)
                number = key * 10 + types.index(handler.type)
                await handler.handle(Job(number, handler.type, f"Task{key}", 1, 3, {}, given))
    everything = await dump(database)
    filled = {"claims", "submission_attempts", "retry_decisions", "audit_events", "outbox", "reviews"}
    filled |= {"idempotency_records", "claim_events", "policies", "claim_payloads", "legal_holds"}
    assert all(f"{table}: " in everything for table in filled)
    kept = ("ANSWER_LOST", "FAILED", "ACCESS_DENIED", "payer_unavailable")
    assert all(word in everything for word in kept)
    assert [secret for secret in SECRETS if secret in everything] == []
    assert {"payer send", "decision", "database write", "database read"} <= {
        span.name for span in spans.all()
    }
    assert [secret for secret in SECRETS if secret in spans.text()] == []


def traced(kept: KeptSpans, store: Store, cipher: Cipher, payer: PayerGateway) -> Sequence[JobHandler]:
    """All handlers as a worker has them: in spans, and with their ids on what is logged."""
    tracing, watched = kept.tracing, store.watched_by(kept.tracing.watch)
    observe = all_of(tracing.observe, log_observation)
    given = services(watched, payer=tracing.payer(payer), clock=Noon(), cipher=cipher, observe=observe)
    handlers = [tracing.handler(handler, cipher) for handler in all_handlers(given)]
    return [correlated(handler, cipher, tracing.trace_of) for handler in handlers]


@pytest.mark.parametrize("error", TEXTS)
@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_no_word_of_a_foreign_text_reaches_engine_database_log_queue_or_trace(
    store: Store, database: AsyncEngine, error: str
) -> None:
    cipher = cipher_of(new_key("k1"))
    told: list[str] = []
    spans = KeptSpans()
    with capture_logs(processors=[naming_its_job]) as logs:
        for handler in traced(spans, store, cipher, LeakyPayer(error)):
            for key, given in enumerate(_everywhere(handler.type, error)):
                job = Job(key * 100 + len(told), handler.type, "Task", key, 1, dict(HEADERS), given)
                with handler.around(job):
                    outcome = await handler.handle(job)
                    told.append(str(outcome))
                    if message := incident_of(outcome, 1):
                        await handler.on_incident(job, message)
    everything = {"database": await dump(database), "engine": "\n".join(told), "logs": str(logs)}
    everything |= {"traces": spans.text()}
    own = [line for line in logs if line["event"] in ("claim_sent", "incident", "input_rejected")]
    assert {line["event"] for line in own} == {"claim_sent", "incident", "input_rejected"}
    assert all({"instance", "job", "trace_id"} <= line.keys() for line in own)
    assert {name: _found(text) for name, text in everything.items() if _found(text)} == {}
    async with store.reading() as tx:
        kept = [text.opened(cipher) for text in await tx.free_texts.of_claim(DERIVED)]
    assert error in kept


HEADERS = {"outcome": "CANCELLED", "recipientGroup": "REGISTRATION", "template": "t"}
FREE = (
    *("claimId", "payerId", "deadline", "protocolNumber", "retryCount", "lastSubmissionTime"),
    *("submissionError", "submissionErrorCode", "retryReason"),
    *("reviewReason", "recipientGroup", "responsibleTeam", "traceparent"),
)


def _everywhere(job_type: str, error: str) -> list[dict[str, Any]]:
    """Good variables, and the text in the place of each of them."""
    good = variables(0, job_type, error) | {"reviewReason": "PERMANENT_ERROR"}
    wrong = [
        {name: error} for name in FREE if job_type.startswith(("submit", "retry", "open", "close", "notify"))
    ]
    return [good, *(good | one for one in wrong), good | {"submissionErrorCode": f"TISS:{CPF}"}]


def _found(text: str) -> list[str]:
    return [secret for secret in FOREIGN if secret in text]


async def test_the_dump_sees_every_table_of_the_database_also_one_that_the_code_does_not_know(
    database: AsyncEngine,
) -> None:
    async with database.begin() as connection:
        await connection.execute(text("CREATE TABLE left_by_somebody AS SELECT '529.982.247-25' AS told"))
        present = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
    seen = (await dump(database)).splitlines()
    assert {line for line in seen if line.startswith("table ")} == {f"table {name}" for name in present}
    assert {*metadata.tables, "alembic_version"} < {*present}
    assert f"left_by_somebody: ('{CPF}',)" in seen
