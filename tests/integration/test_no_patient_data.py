"""A dump of the whole database after a run with personal data in every text: none of it is in there."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.submission import Failed, SendOutcome, Submission, Unavailable
from persistence.holds import Hold
from persistence.store import Store
from persistence.tables import metadata
from tests.contract.persistence.builders import NOW, later
from tests.integration.intake_stage import DERIVED, intake_stage
from tests.unit.tiss import samples
from workers.intake import Parcel
from workers.jobs import all_handlers
from workers.policy import load_policy
from workers.runtime import Job

CPF, CNS, CARD, NAME = "529.982.247-25", "898001160651234", "00251234567890123", "Maria Aparecida da Silva"
ERROR = (
    f"TIMEOUT - paciente: {NAME}; CPF {CPF}; CNS: {CNS}; "
    f"<ans:numeroCarteira>{CARD}</ans:numeroCarteira><ans:nomeBeneficiario>{NAME}</ans:nomeBeneficiario>"
)
DIGITS = "52998224725"
SECRETS = (CPF, DIGITS, CNS, CARD, NAME, "Aparecida")


def patients_file(number: str = "200000000001") -> bytes:
    """A claim of which guides are full of what must not be seen."""
    text = samples.file_text(number, guides=2).replace(samples.DOCTOR, NAME)
    text = text.replace(samples.CARD, CNS, 1).replace(samples.CARD, CARD)
    prestador = (
        "<ans:codigoPrestadorNaOperadora>PREST0001</ans:codigoPrestadorNaOperadora>\n          <ans:CNES>"
    )
    cpf = f"<ans:cpfContratado>{DIGITS}</ans:cpfContratado>\n          <ans:CNES>"
    return samples.file_bytes(text.replace(prestador, cpf))


class LeakyPayer:
    """Quotes the patient in everything it says."""

    async def send(self, submission: Submission, _now: datetime) -> SendOutcome:
        if submission.attempt == 1:
            return Unavailable(ERROR, later(minutes=5))
        return Failed(ERROR, "HTTP:503")


class Noon:
    """Always the same time."""

    async def now(self) -> datetime:
        return NOW


def variables(key: int, job_type: str) -> dict[str, Any]:
    about = {"claimId": DERIVED, "payerId": "p", "retryCount": key % 7}
    if job_type == "open-review":
        return about | {"reviewReason": "PERMANENT_ERROR", "submissionError": ERROR}
    return about | {"submissionError": ERROR, "submissionErrorCode": "HTTP:503"}


async def dump(database: AsyncEngine) -> str:
    rows = []
    async with database.connect() as connection:
        for table in metadata.sorted_tables:
            columns = ", ".join(f'"{column.name}"' for column in table.columns)
            found = await connection.execute(text(f"SELECT {columns} FROM {table.name}"))  # noqa: S608
            rows += [f"{table.name}: {row}" for row in found]
    return "\n".join(rows)


@pytest.mark.parametrize("secret", SECRETS)
def test_the_error_and_the_file_of_this_test_do_hold_them(secret: str) -> None:
    assert secret in ERROR or secret == DIGITS
    assert secret.encode("iso-8859-1") in patients_file() or secret == CPF


async def test_no_personal_data_is_kept_in_clear(store: Store, database: AsyncEngine, tmp_path: Path) -> None:
    async with intake_stage(store, tmp_path) as stage:
        await stage.intake.submit(Parcel(patients_file()))
        cipher = stage.intake.cipher
    await store.run(lambda tx: tx.holds.place(Hold(DERIVED, ERROR, NOW)))
    handlers = all_handlers(store, LeakyPayer(), load_policy, Noon(), cipher=cipher)
    types = ("submit-claim", "retry-submission-backoff", "analyze-retry", "open-review")
    for key in range(28):
        for handler in handlers:
            if handler.type in types:
                given = variables(key, handler.type)
                number = key * 10 + types.index(handler.type)
                await handler.handle(Job(number, handler.type, "Task", key, 3, {}, given))
    everything = await dump(database)
    filled = {"claims", "submission_attempts", "retry_decisions", "audit_events", "outbox", "reviews"}
    filled |= {"idempotency_records", "claim_events", "policies", "claim_payloads", "legal_holds"}
    assert all(f"{table}: " in everything for table in filled)
    assert [secret for secret in SECRETS if secret in everything] == []


async def test_the_dump_sees_every_table(database: AsyncEngine) -> None:
    async with database.connect() as connection:
        for table in metadata.sorted_tables:
            await connection.execute(select(table).limit(1))
