"""A dump of the whole database after a run with personal data in every text: none of it is in there."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.submission import AccessDenied, AnswerLost, Failed, SendResult, Submission
from persistence.repositories.legal_holds import LegalHold
from persistence.store import Store
from persistence.tables import metadata
from tests.integration.intake_stage import DERIVED, intake_stage
from tests.support.builders import NOW
from tests.support.patients import CPF, DIGITS, ERROR, SECRETS, dump, patients_file
from tests.support.services import services
from workers.claims.examination import ClaimFile
from workers.jobs import all_handlers
from workers.runtime import Job


class LeakyPayer:
    """Quotes the patient in everything it says."""

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        answers = (AnswerLost(ERROR, "HTTP:503", payer_down=True), Failed(ERROR, "HTTP:503"))
        return answers[submission.attempt - 1] if submission.attempt <= len(answers) else AccessDenied(ERROR)


class Noon:
    """Always the same time."""

    async def now(self) -> datetime:
        return NOW


def variables(key: int, job_type: str) -> dict[str, Any]:
    about = {"claimId": DERIVED, "payerId": "p", "retryCount": key % 7}
    if job_type == "open-review":
        return about | {"reviewReason": "PERMANENT_ERROR", "submissionError": ERROR}
    return about | {"submissionError": ERROR, "submissionErrorCode": "HTTP:503"}


@pytest.mark.parametrize("secret", SECRETS)
def test_the_error_and_the_file_of_this_test_do_hold_them(secret: str) -> None:
    assert secret in ERROR or secret == DIGITS
    assert secret.encode("iso-8859-1") in patients_file() or secret == CPF


async def test_no_personal_data_is_kept_in_clear(store: Store, database: AsyncEngine, tmp_path: Path) -> None:
    async with intake_stage(store, tmp_path) as stage:
        await stage.intake.submit(ClaimFile(patients_file()))
        cipher = stage.intake.cipher
    await store.run(lambda tx: tx.holds.place(LegalHold(DERIVED, ERROR, NOW)))
    handlers = all_handlers(services(store, payer=LeakyPayer(), clock=Noon(), cipher=cipher))
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
