"""The commands of the memory, as a person runs them."""

import json
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from domain.outputs import output_variables
from persistence.audit.rejections import Rejection
from persistence.encryption.keys import KEY_FILE, cipher_of, new_key
from persistence.repositories.payloads import seal_payload, sealing_name
from persistence.repositories.reviews import Review
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, REFUSAL, draft
from tests.support.earlier_rules import record_as_before, said_otherwise
from tests.support.intake_stage import FILE
from tests.support.services import services
from tests.support.terminal import Terminal, terminal
from tests.support.tiss_samples import DOCTOR
from workers.jobs.decisions import retry_submission_backoff
from workers.runtime import Complete, Job

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)  # both is the contract suite's part
__all__ = ["terminal"]


async def test_audit_shows_verifies_and_exports(terminal: Terminal, store: Store, tmp_path: Path) -> None:
    await store.record(draft(now=await store.time()))
    code, out, _ = await terminal.run("audit", "show", CLAIM)
    assert code == 0
    assert [line.split()[2] for line in out.splitlines()][-2:] == ["DECIDED", "SCHEDULED"]
    code, out, _ = await terminal.run("audit", "verify")
    assert (code, out) == (0, "6 events, 1 decisions, 0 daily anchors: all as they were written.\n")
    file = tmp_path / "export.jsonl"
    code, _, err = await terminal.run("audit", "export", CLAIM, "--output", str(file))
    assert (code, err) == (0, f"10 records of {CLAIM}.\n")
    records = [json.loads(line)["record"] for line in file.read_text().splitlines()]
    assert set(records) == {"retry_decisions", "first_rounds", "claim_events", "audit_events", "outbox"}


async def test_a_claim_with_an_id_of_another_form_is_shown_held_and_exported(
    terminal: Terminal, store: Store
) -> None:
    handler = retry_submission_backoff(services(store))
    variables = {"claimId": "GUIDE/2025:0017", "submissionError": "TIMEOUT"}
    job = Job(1, handler.type, "Task", 1, 3, {"claimIdForm": "reference"}, variables)
    assert isinstance(await handler.handle(job), Complete)
    code, out, _ = await terminal.run("audit", "show", "GUIDE/2025:0017")
    assert (code, "DECIDED" in out) == (0, True)
    assert (await terminal.run("audit", "export", "GUIDE/2025:0017"))[2] == "10 records of GUIDE/2025:0017.\n"
    for command in (("hold", "GUIDE/2025:0017"), ("release", "GUIDE/2025:0017", "--yes")):
        assert (await terminal.run("retention", *command, "--reason", "asked for"))[0] == 0
    code, _, err = await terminal.run("audit", "show", "no-digit")
    assert (code, "CLM-001-1234567890" in err) == (2, True)


async def test_a_claim_that_another_process_sends_is_shown_with_its_decisions(
    terminal: Terminal, store: Store
) -> None:
    now = datetime.now(UTC)
    for n, back in enumerate((20, 10)):
        await store.record(draft(count=n, now=now - timedelta(minutes=back)))
    waits = draft(count=2, now=now, process_instance_key=77)
    await store.record(waits)
    assert waits.retry
    code, out, _ = await terminal.run("claim", "show", CLAIM)
    assert code == 0
    assert "state     sent by another process, instance 77" in out
    assert f"next send {waits.retry.next_retry_time.isoformat(timespec='seconds')}" in out
    assert "failures  3 since " in out
    assert "Retry 3 of 5, in " in out
    code, out, _ = await terminal.run("claim", "pending", COLUMNS="200")
    assert code == 0
    assert (CLAIM in out, "77" in out, "Retry 3 of 5" in out) == (True, True, True)
    code, _, err = await terminal.run("claim", "show", "CLM-none-1")
    assert (code, "not known here" in err) == (1, True)


@pytest.mark.parametrize("form", ["throw", "return"])
async def test_a_foreign_claim_that_was_given_up_names_its_team_and_its_review(
    terminal: Terminal, store: Store, form: str
) -> None:
    given = draft(error=REFUSAL)
    if form == "return":
        returned = {"complete": output_variables(given.decision, given.policy.profile)}
        given = replace(given, result=returned)
    await store.record(given)
    _, out, _ = await terminal.run("claim", "show", CLAIM)
    assert "team      BILLING_MANAGEMENT\n" in out
    assert "review" not in out
    review = Review(CLAIM, 0, "PERMANENT_ERROR", "look at the code", "BILLING_MANAGEMENT")
    await store.run(lambda tx: tx.reviews.open(review, job_key=9, now=NOW))
    _, out, _ = await terminal.run("claim", "show", CLAIM)
    assert "review    PERMANENT_ERROR: look at the code\n" in out
    await store.record(draft(count=0, now=NOW + timedelta(minutes=1)))
    _, out, _ = await terminal.run("claim", "show", CLAIM)
    assert ("team" in out, "review" in out) == (False, False)


async def test_a_claim_that_was_only_rejected_so_far_is_found_in_the_audit_trail(
    terminal: Terminal, store: Store
) -> None:
    rejection = Rejection(7, 42, "GUIDE-17", "RN-BIL-004", "BIL-004-V5", "Variable retryCount", NOW)
    await store.run(lambda tx: tx.rejections.keep(rejection))
    code, _, err = await terminal.run("claim", "show", "GUIDE-17")
    assert (code, "reenvio audit show GUIDE-17" in err, "not known" in err) == (1, True, False)


async def test_a_claim_of_ours_that_never_left_is_not_taken_for_one_of_others(
    terminal: Terminal, store: Store
) -> None:
    await store.run(lambda tx: tx.claims.put(CLAIM, "payer-1", ClaimState.FAILED, now=NOW))
    await store.record(draft(deadline=NOW + timedelta(hours=4)))
    _, out, _ = await terminal.run("claim", "show", CLAIM)
    assert ("another process" in out, "sends     0\n" in out) == (False, True)


async def test_claim_show_says_whether_retries_or_time_ran_out(terminal: Terminal, store: Store) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "payer-1", ClaimState.FAILED, now=NOW)
        await tx.attempts.start(CLAIM, 1, now=NOW)
    await store.record(draft(deadline=NOW + timedelta(hours=4)))
    _, out, _ = await terminal.run("claim", "show", CLAIM)
    assert "are kept for a person (cause DEADLINE)\n" in out
    assert "sends     1\n" in out
    await store.record(draft("CLM-2-2", count=5))
    _, out, _ = await terminal.run("claim", "show", "CLM-2-2")
    assert "Maximum of 5 retries exceeded (cause RETRIES)\n" in out


async def test_what_was_rejected_without_a_claims_id_is_shown_by_process_instance(
    terminal: Terminal, store: Store
) -> None:
    now = await store.time()
    rejection = Rejection(7, 42, None, "RN-BIL-004", "BIL-004 3.1", "Variable claimId", now)
    await store.run(lambda tx: tx.rejections.keep(rejection))
    code, out, _ = await terminal.run("audit", "show", "--instance", "42")
    assert (code, [line.split()[2] for line in out.splitlines()]) == (0, ["RECEIVED", "REJECTED"])
    code, out, _ = await terminal.run("audit", "verify")
    assert (code, out) == (0, "2 events, 0 decisions, 0 daily anchors: all as they were written.\n")
    for wrong in ((), (CLAIM, "--instance", "42")):
        code, _, err = await terminal.run("audit", "show", *wrong)
        assert (code, "--instance" in err) == (2, True)


async def test_decisions_of_earlier_rules_are_counted_and_nobody_is_alarmed(
    terminal: Terminal, store: Store, database: AsyncEngine
) -> None:
    await record_as_before(database, said_otherwise())
    now = await store.time()
    await store.run(lambda tx: tx.anchors.begin(now))
    code, out, _ = await terminal.run("audit", "verify")
    assert (code, "1 decisions were made by an earlier version of the rules" in out) == (0, True)
    assert "1 decisions, 0 daily anchors: all as they were written." in out


async def keep_file(store: Store, key: str) -> None:
    sealed = seal_payload(cipher_of(key), CLAIM, FILE)
    await store.run(lambda tx: tx.payloads.put(CLAIM, sealed, now=NOW))


async def test_an_export_holds_the_claims_file_in_clear_for_its_owner_only_and_logs_nothing_of_it(
    terminal: Terminal, store: Store, tmp_path: Path
) -> None:
    await keep_file(store, key := new_key("k1"))
    file = tmp_path / "export.jsonl"
    file.touch(mode=0o644)
    code, out, err = await terminal.run(
        "audit", "export", CLAIM, "-o", str(file), ENCRYPTION_KEYS=key, LOG_LEVEL="debug"
    )
    assert (code, out, err) == (0, "", f"1 records of {CLAIM}.\n")
    record = json.loads(file.read_text(encoding="utf-8"))
    assert record == {
        "record": "claim_payloads",
        "claim_id": CLAIM,
        "stored_at": NOW.isoformat(),
        "key_name": sealing_name(cipher_of(key), "k1"),
        "content": FILE.decode("iso-8859-1").strip(),
    }
    assert DOCTOR in record["content"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "given",
    [{}, {"ENCRYPTION_KEYS": new_key("k2")}, {"ENCRYPTION_KEYS": new_key("k1")}],
    ids=["none", "another", "same name"],
)
async def test_an_export_without_the_files_key_names_the_setting_and_writes_nothing(
    terminal: Terminal, store: Store, tmp_path: Path, given: dict[str, str]
) -> None:
    await keep_file(store, new_key("k1"))
    file = tmp_path / "export.jsonl"
    code, out, err = await terminal.run("audit", "export", CLAIM, "-o", str(file), **given)
    assert (code, out) == (1, "")
    assert "'k1'" in err
    assert "ENCRYPTION_KEYS" in err
    assert not file.exists()
    assert not (tmp_path / KEY_FILE).exists()


async def test_an_export_that_cannot_be_written_says_where(
    terminal: Terminal, store: Store, tmp_path: Path
) -> None:
    await store.record(draft())
    file = str(tmp_path / "none" / "x")
    code, _, err = await terminal.run("audit", "export", CLAIM, "-o", file, COLUMNS="300")
    assert code == 2
    assert "cannot be written" in err


async def tamper(database: AsyncEngine, *changes: str) -> None:
    async with database.begin() as connection:
        await connection.execute(text("INSERT INTO audit_permits VALUES ('audit_events:UPDATE')"))
        for change in changes:
            await connection.execute(text(f"UPDATE audit_events SET {change}"))  # noqa: S608
        await connection.execute(text("DELETE FROM audit_permits"))


async def test_verify_names_what_was_changed_and_exits_1(
    terminal: Terminal, store: Store, database: AsyncEngine
) -> None:
    await store.record(draft())
    await tamper(database, "job_key = 0 WHERE sequence = 2")
    code, out, _ = await terminal.run("audit", "verify")
    assert code == 1
    assert out.splitlines()[0] == f"{CLAIM} event 2: it was changed"


async def test_show_says_of_a_damaged_event_that_it_is_damaged(
    terminal: Terminal, store: Store, database: AsyncEngine
) -> None:
    await store.record(draft())
    await tamper(database, "data = '{' WHERE sequence = 2", "data = '[]' WHERE sequence = 3")
    code, out, _ = await terminal.run("audit", "show", CLAIM)
    assert code == 0
    assert ["cannot be read" in line for line in out.splitlines()] == [False, True, True, False, False, False]


async def test_a_claim_nobody_knows_is_one_line(terminal: Terminal) -> None:
    code, _, err = await terminal.run("audit", "show", "CLM-9-9")
    assert (code, err) == (1, "Nothing was decided about CLM-9-9 here.\n")


async def test_a_claim_is_held_listed_and_released(terminal: Terminal, store: Store) -> None:
    await store.record(draft())
    _, out, _ = await terminal.run("retention", "hold", CLAIM, "--reason", "case 7")
    assert out == f"{CLAIM} is now on hold.\n"
    _, out, _ = await terminal.run("retention", "holds")
    assert out.split()[0] == CLAIM
    release = ("retention", "release", CLAIM, "--reason", "case 7 is over", "--yes")
    assert (await terminal.run(*release))[0] == 0
    code, _, err = await terminal.run(*release)
    assert (code, err) == (1, f"{CLAIM} is not on hold: see `reenvio retention holds`.\n")


async def test_retention_counts_first_and_then_removes(terminal: Terminal, store: Store) -> None:
    await store.record(draft(now=draft().decision.decided_at.replace(year=2015)))
    _, out, _ = await terminal.run("retention", "run", "--dry-run")
    assert "1  decisions would be removed" in out
    _, out, _ = await terminal.run("retention", "run", "--reason", "month's end", "--yes")
    assert "1  decisions removed" in out
    assert "6  audit events removed" in out


async def test_the_relay_says_how_far_behind_it_is_and_carries(
    terminal: Terminal, store: Store, tmp_path: Path
) -> None:
    await store.record(draft())
    _, out, _ = await terminal.run("relay", "--lag")
    assert out.startswith("1 event waits, the oldest since 2026-01-12T10:40:00")
    _, out, _ = await terminal.run("relay", "--once")
    assert out == "1 event carried.\n"
    assert (tmp_path / "events.jsonl").read_text().count("\n") == 1
    code, _, err = await terminal.run("relay", "--once", REDIS_URL="http://x")
    assert code == 2
    assert "REDIS_URL" in err


async def test_nothing_to_unlock_is_one_line(terminal: Terminal) -> None:
    code, _, err = await terminal.run("retention", "unlock", "42", "--reason", "mended")
    assert (code, err) == (1, "No operation of instance 42 has failed for good: nothing to unlock.\n")


async def test_a_database_without_schema_says_what_to_run(empty_url: str, tmp_path: Path) -> None:
    code, _, err = await Terminal(empty_url, tmp_path).run("audit", "verify")
    assert code == 2
    assert "reenvio migrate" in err


@pytest.mark.parametrize("command", [("export", CLAIM), ("show", CLAIM), ("verify",)], ids=lambda c: c[0])
async def test_output_that_cannot_be_written_is_no_trouble_of_the_database(
    terminal: Terminal, store: Store, command: tuple[str, ...]
) -> None:
    await store.record(draft())
    code, err = await terminal.run_into(Path("/dev/full"), "audit", *command)
    assert (code, len(err.splitlines()), "database" in err) == (1, 1, False)
    assert err.startswith("The output could not be written (No space left on device)")


@pytest.mark.parametrize(
    "command",
    [("kpi",), ("report",), ("dlq", "stats"), ("claim", "list"), ("payer", "list"), ("--help",)],
    ids=" ".join,
)
async def test_what_could_not_be_written_is_told_by_every_command(
    terminal: Terminal, store: Store, command: tuple[str, ...]
) -> None:
    code, err = await terminal.run_into(Path("/dev/full"), *command)
    assert (code, err.startswith("The output could not be written")) == (1, True), err
    code, err = await terminal.run_unread(*command)
    assert (code in (1, 141), err) == (True, "")


@pytest.mark.parametrize("command", [("export", CLAIM), ("show", CLAIM), ("verify",)], ids=lambda c: c[0])
async def test_a_reader_that_is_gone_ends_it_quietly(
    terminal: Terminal, store: Store, command: tuple[str, ...]
) -> None:
    await store.record(draft())
    assert await terminal.run_unread("audit", *command) == (141, "")
