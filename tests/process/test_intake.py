"""Files become accepted claims on a real broker with a simulated payer, each exactly once."""

import dataclasses
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.submission import Failed, SendResult, Submission
from gateways.zeebe import engine
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from gateways.zeebe.refusals import CommandRefusedError
from persistence.repositories.journal import RETRY_SCHEDULED, JournalEntry
from tests.process.hospital import NAME, PATIENT, Hospital, claim_file, claim_id, open_hospital
from tests.process.records import Records
from tests.process.stage import eventually
from tests.support.patients import ERROR, SECRETS, dump, patients_file
from tests.support.tiss_samples import PAYER
from workers.claims.examination import ClaimFile
from workers.claims.intake import KnownClaim


@pytest.fixture(scope="module")
async def hospital(
    broker: engine.RunningEngine, broker_config: engine.EngineConfig, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Hospital]:
    folder = tmp_path_factory.mktemp("hospital")
    async with open_hospital(broker, broker_config.home, folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def records(broker_config: engine.EngineConfig) -> Records:
    return Records(broker_config.log_file)


async def the_only_instance(records: Records, claim: str) -> int:
    """The one process that was started for a claim, once it has ended."""

    async def ended() -> int | None:
        started = records.started_for(claim)
        done = [key for key in started if "SUB_06" in records.completed(key)]
        return done[0] if done and len(done) == len(started) else None

    found = await eventually(ended, f"the process of {claim} to end")
    assert records.started_for(claim) == {found}
    return found


async def test_a_file_by_command_line_is_accepted_once_and_its_protocol_shown(hospital: Hospital) -> None:
    file, claim = hospital.write("one.xml", claim_file("101")), claim_id("101")
    code, said = await hospital.reenvio("claim", "submit", file, "--deadline", "30h")
    assert (code, f"is on its way as {claim}" in said) == (0, True), said
    async with hospital.working():
        row = await hospital.reaches(claim, ClaimState.ACCEPTED)
        _, shown = await hospital.reenvio("claim", "show", claim)
        assert row.protocol_number
        for fact in (PAYER, "101", row.protocol_number, "deadline", "received", "accepted"):
            assert fact in shown
        code, said = await hospital.reenvio("claim", "submit", file)
        assert (code, "is known as" in said) == (0, True)
        _, said = await hospital.reenvio("claim", "protocol", claim)
        assert said == f"protocol {row.protocol_number}: received\n"
        _, listed = await hospital.reenvio("claim", "list", "--state", "accepted", "--payer", PAYER)
        assert claim in listed
    assert hospital.arrivals("101") == 1


async def test_a_file_by_http_is_accepted_once(hospital: Hospital) -> None:
    data, claim = claim_file("102"), claim_id("102")
    async with hospital.http() as http, hospital.working():
        assert (await http.post("/api/claims", content=data)).status_code == 202
        row = await hospital.reaches(claim, ClaimState.ACCEPTED)
        again = await http.post("/api/claims", content=data)
        assert (again.status_code, again.json()["state"]) == (200, "ACCEPTED")
        assert (await http.get(f"/api/claims/{claim}")).json()["protocolNumber"] == row.protocol_number
    assert hospital.arrivals("102") == 1


async def test_a_folder_is_handed_in_with_a_summary(hospital: Hospital) -> None:
    folder = hospital.folder / "batches"
    folder.mkdir()
    for number in ("111", "112"):
        (folder / f"{number}.xml").write_bytes(claim_file(number))
    (folder / "broken.XML").write_bytes(b"<x/>")
    code, said = await hospital.reenvio("claim", "submit", str(folder))
    assert code == 1
    assert "broken.XML: file: " in said
    assert said.splitlines()[-1] == "3 files: 2 new, 1 refused."
    async with hospital.working():
        for number in ("111", "112"):
            await hospital.reaches(claim_id(number), ClaimState.ACCEPTED)


async def test_a_claim_that_was_not_started_is_started_by_the_sweep(
    hospital: Hospital, records: Records
) -> None:
    claim = claim_id("103")
    async with open_channel(Plaintext("127.0.0.1:1")) as nowhere:
        away = dataclasses.replace(hospital.app.intake, commands=ZeebeCommands(nowhere))
        with pytest.raises(CommandRefusedError):
            await away.submit(ClaimFile(claim_file("103")))
    await hospital.advance(timedelta(minutes=2))
    assert await hospital.app.intake.start_received() == 1
    async with hospital.working():
        await hospital.reaches(claim, ClaimState.ACCEPTED)
    await the_only_instance(records, claim)


async def test_no_repetition_starts_a_second_process_even_when_the_engine_has_forgotten_the_first(
    hospital: Hospital, records: Records
) -> None:
    file, claim, intake = ClaimFile(claim_file("104")), claim_id("104"), hospital.app.intake
    await intake.submit(file)
    assert isinstance(await intake.submit(file), KnownClaim)
    for _ in range(3):  # a message is forgotten after a day; nobody has served the claim yet
        await hospital.advance(timedelta(hours=25))
        await intake.start_received()
        await intake.submit(file)
    async with hospital.working():
        await hospital.reaches(claim, ClaimState.ACCEPTED)
        instance = await the_only_instance(records, claim)
        await intake.submit(file)
        await intake.submit(
            ClaimFile(claim_file("105"))
        )  # what waited behind the first would start before it
        await hospital.reaches(claim_id("105"), ClaimState.ACCEPTED)
    assert records.started_for(claim) == {instance}
    assert hospital.arrivals("104") == 1


async def test_a_refused_file_is_corrected_through_its_review(hospital: Hospital) -> None:
    claim = claim_id("7701")
    await hospital.app.intake.submit(ClaimFile(claim_file("7701")))
    corrected = hospital.write("corrected.xml", claim_file("7701", first=8801))
    async with hospital.working():
        await hospital.reaches(claim, ClaimState.IN_REVIEW)
        code, said = await hospital.reenvio("claim", "submit", corrected)
        assert code == 1
        assert "CORRECTED --file" in said
        code, said = await hospital.reenvio("claim", "review", claim, "CORRECTED", "--file", corrected)
        assert code == 0, said
        await hospital.reaches(claim, ClaimState.ACCEPTED)
    taken = hospital.simulator.ledger.taken(PAYER, "7701")
    assert taken is not None
    assert taken.guides == ("GP-8801",)


async def test_a_protocol_whose_answer_was_damaged_is_recovered_from_the_payer_by_command_line(
    hospital: Hospital,
) -> None:
    claim, reenvio = claim_id("8901"), hospital.reenvio
    await hospital.app.intake.submit(ClaimFile(claim_file("8901")))
    async with hospital.working():
        await hospital.awaits_its_retry(claim)
        code, said = await reenvio("claim", "cancel", claim)
        assert (code, f"The payer may have {claim}" in said) == (1, True), said
        await reenvio("payer", "pause", PAYER, "--reason", "audit", "--yes")
        _, said = await reenvio("claim", "retry-now", claim)
        assert f"is woken, but waits on for payer {PAYER} until " in said
        await reenvio("payer", "resume", PAYER)
        row = await hospital.reaches(claim, ClaimState.IN_REVIEW)
        assert row.reason == "PROTOCOL_MISSING"

        taken = hospital.simulator.ledger.taken(PAYER, "8901")
        assert taken is not None
        assert taken.protocol is not None
        decide = ("claim", "review", claim, "PROTOCOL_RECOVERED")
        code, said = await reenvio(*decide)  # the damage is in the number itself
        assert (code, "add --protocol and --unchecked" in said) == (1, True), said
        code, said = await reenvio("claim", "protocol", claim, "--protocol", taken.protocol)
        assert (code, f"protocol {taken.protocol}: received" in said) == (0, True), said
        assert f"It is {claim}'s own batch" in said
        code, said = await reenvio(*decide, "--protocol", taken.protocol)
        assert code == 0, said
        row = await hospital.reaches(claim, ClaimState.ACCEPTED)
    assert row.protocol_number == taken.protocol
    assert hospital.arrivals("8901") == 2


async def test_a_claim_without_a_file_reaches_a_person_who_reads_why(hospital: Hospital) -> None:
    code, said = await hospital.reenvio("claim", "start", "CLM-none-1", "--payer", PAYER)
    assert (code, "reenvio claim submit FILE.xml" in said) == (1, True)  # but other systems may
    await hospital.app.messages.start(ClaimId("CLM-none-1"), PAYER)
    async with hospital.working():
        await hospital.reaches("CLM-none-1", ClaimState.IN_REVIEW)
    _, shown = await hospital.reenvio("claim", "show", "CLM-none-1")
    assert "No file is stored for this claim" in shown


class QuotingPayer:
    """Quotes the patient in its errors: one that may pass, then one that does not."""

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        return Failed(ERROR if submission.attempt == 1 else f"INVALID_PROCEDURE_CODE - {ERROR}")


async def through_acceptance(hospital: Hospital, number: str) -> None:
    """A patient's file reaches the simulated payer."""
    await hospital.app.intake.submit(ClaimFile(claim_file(number)))
    async with hospital.working():
        await hospital.reaches(claim_id(number), ClaimState.ACCEPTED)


async def retry_scheduled(hospital: Hospital, number: str) -> JournalEntry | None:
    """The claim's first wait by decision; its state may also tell of a wait for the payer's pace."""
    async with hospital.app.store.reading() as tx:
        entries = await tx.journal.of_claim(claim_id(number))
    return next((entry for entry in entries if entry.event == RETRY_SCHEDULED), None)


async def through_review(hospital: Hospital, number: str) -> None:
    """A patient's file fails, waits, is refused and lies before a person."""
    await hospital.app.intake.submit(ClaimFile(patients_file(number)))
    async with hospital.working():
        await eventually(lambda: retry_scheduled(hospital, number), "a retry")
        await hospital.advance(timedelta(minutes=7))
        await hospital.reaches(claim_id(number), ClaimState.IN_REVIEW)


async def test_engine_and_database_hold_no_patient_of_a_file_or_of_an_error(
    broker: engine.RunningEngine,
    broker_config: engine.EngineConfig,
    records: Records,
    database: AsyncEngine,
    tmp_path: Path,
) -> None:
    sent, refused = {"sqlite": ("191", "192"), "postgresql": ("193", "194")}[database.dialect.name]
    url = database.url.render_as_string(hide_password=False)
    async with open_hospital(broker, broker_config.home, tmp_path, url) as opened:
        await through_acceptance(opened, sent)
        quoted = dataclasses.replace(opened.app, payer=QuotingPayer())
        await through_review(dataclasses.replace(opened, app=quoted), refused)
    stored, known = await dump(database), records.everything()
    for place in (stored, known):
        assert claim_id(sent) in place
        assert claim_id(refused) in place
        assert [secret for secret in (*SECRETS, PATIENT, NAME, "Fict") if secret in place] == []
    assert "claim_payloads: " in stored
    assert "claim_texts: " in stored  # what the payer said, sealed
