"""What the commands that only look say: nothing is cut short, nothing is left unsaid."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from domain.claim_state import ClaimState
from domain.payer_status import PayerState, PayerStatus
from domain.slots import Wait
from domain.standing import StandingKind, Standstill
from domain.submission import AnswerLost, Failed
from persistence.repositories.attempts import AttemptResult
from persistence.repositories.reviews import Review
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, draft
from tests.support.terminal import Terminal, terminal

__all__ = ["terminal"]
pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)  # both is the contract suite's part
LONG = "the payer has planned maintenance, and all claims to it wait until it is over [number]"


async def sent(store: Store, outcome: str) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "302147", ClaimState.WAITING, now=NOW)
        attempt = await tx.attempts.start(CLAIM, 1, now=NOW)
        await tx.attempts.finish(CLAIM, attempt, AttemptResult(outcome), now=NOW)


@pytest.mark.parametrize(("outcome", "told"), [(AnswerLost.stored_as, True), (Failed.stored_as, False)])
async def test_claim_show_says_of_a_lost_answer_that_the_claim_may_have_arrived(
    terminal: Terminal, store: Store, outcome: str, told: bool
) -> None:
    await sent(store, outcome)
    _, out, _ = await terminal.run("claim", "show", CLAIM)
    assert ("arrival   may have arrived: the answer to a send was lost\n" in out) is told
    async with store.transaction() as tx:
        await tx.claims.close(CLAIM, ClaimState.CANCELLED, now=NOW, reason=None)
    assert "arrival" not in (await terminal.run("claim", "show", CLAIM))[1]


@pytest.mark.parametrize(
    ("reason", "decisions"),
    [
        ("PERMANENT_ERROR", "RESEND, CORRECTED, WRITE_OFF, PROTOCOL_RECOVERED"),
        ("PROTOCOL_MISSING", "WRITE_OFF, PROTOCOL_RECOVERED"),
    ],
)
async def test_claim_show_names_the_decisions_that_a_review_allows(
    terminal: Terminal, store: Store, reason: str, decisions: str
) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "302147", ClaimState.FAILED, now=NOW)
        await tx.claims.move(CLAIM, ClaimState.IN_REVIEW, now=NOW, reason=reason)
        await tx.reviews.open(Review(CLAIM, 0, reason, None), job_key=1, now=NOW)
    _, out, _ = await terminal.run("claim", "show", CLAIM)
    assert f"way on    `reenvio claim review {CLAIM} DECISION` with one of {decisions}\n" in out


async def test_claim_list_and_show_say_that_a_claim_stands_still_once_that_is_believed(
    terminal: Terminal, store: Store
) -> None:
    seen = Standstill(StandingKind.JOB, CLAIM, NOW, NOW)
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "302147", ClaimState.SUBMITTING, now=NOW)
        await tx.standstills.keep([seen])
    assert "stand" not in (await terminal.run("claim", "list"))[1]
    at = NOW + timedelta(hours=1)
    nudged = replace(seen, confirmed_at=at, nudged_at=at, nudges=2)
    await store.run(lambda tx: tx.standstills.keep([nudged]))
    assert "SUBMITTING (stands still)" in (await terminal.run("claim", "list"))[1]
    _, out, _ = await terminal.run("claim", "show", CLAIM)
    assert "standing  its job's lock has ended since 2026-01-12T10:40:00+00:00; nudged 2 times" in out


async def test_claim_list_in_a_pipe_shows_every_reason_and_team_whole(
    terminal: Terminal, store: Store
) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "302147", ClaimState.FAILED, now=NOW)
        await tx.claims.move(CLAIM, ClaimState.IN_REVIEW, now=NOW, reason=LONG)
        await tx.reviews.open(Review(CLAIM, 0, LONG, None, team="BILLING_MANAGEMENT"), job_key=1, now=NOW)
    _, out, _ = await terminal.run("claim", "list", COLUMNS="80")
    [line] = [line for line in out.splitlines() if CLAIM in line]
    assert line.endswith(f"{LONG}  BILLING_MANAGEMENT")


async def test_without_incidents_the_list_says_whose_it_would_show(terminal: Terminal, store: Store) -> None:
    await sent(store, Failed.stored_as)
    code, out, _ = await terminal.run("claim", "list", "--incidents")
    assert (code, out) == (
        0,
        "No claim that we send stands on an incident; "
        "incidents of other processes: Operate, or the workers' log.\n",
    )


async def test_pending_tells_of_claims_that_are_held_for_their_payer(
    terminal: Terminal, store: Store
) -> None:
    assert (await terminal.run("claim", "pending"))[1] == "No claim waits for a retry.\n"
    async with store.transaction() as tx:
        await tx.payers.lock("302147", now=NOW)
        await tx.claims.put(CLAIM, "302147", ClaimState.WAITING, now=NOW)
        await tx.payers.hold(Wait(CLAIM, "302147", NOW, NOW + timedelta(hours=1)))
    _, out, _ = await terminal.run("claim", "pending")
    assert "Held for their payer: 1, see `reenvio claim list --state waiting`." in out
    _, out, _ = await terminal.run("payer", "show", "302147")
    assert "claims held            1\n" in out


@pytest.mark.parametrize(
    ("until", "told"), [(timedelta(hours=1), ""), (timedelta(hours=-1), " (overdue)")], ids=["held", "late"]
)
async def test_a_pending_claim_is_overdue_only_when_the_hold_of_its_payer_has_passed_too(
    terminal: Terminal, store: Store, until: timedelta, told: str
) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "302147", ClaimState.FAILED, now=NOW)
    await store.record(draft(CLAIM, now=now - timedelta(days=1)))
    _, out, _ = await terminal.run("claim", "pending")
    assert ("held" in out, " (overdue)" in out) == (False, True)
    async with store.transaction() as tx:
        await tx.payers.lock("302147", now=NOW)
        await tx.claims.move(CLAIM, ClaimState.WAITING, now=NOW, next_retry_time=now + until)
        await tx.payers.hold(Wait(CLAIM, "302147", NOW, now + until))
    _, out, _ = await terminal.run("claim", "pending")
    [line] = [line for line in out.splitlines() if CLAIM in line]
    assert f"held until {(now + until).isoformat(timespec='seconds')}{told}  " in line
    assert "held for payer 302147; Retry 1 of 5" in line
    assert ("overdue" in line) is bool(told)


async def test_payer_show_tells_refused_credentials_from_unproven_ones(
    terminal: Terminal, store: Store
) -> None:
    payer = PayerStatus("302147", NOW)
    async with store.transaction() as tx:
        await tx.payers.lock("302147", now=NOW)
    _, out, _ = await terminal.run("payer", "show", "302147")
    assert "credentials            not proven since start or resume\n" in out
    assert "last probe             not probed yet\n" in out
    async with store.transaction() as tx:
        await tx.payers.save(replace(payer, state=PayerState.STOPPED, reason="HTTP:401: refused"))
    _, out, _ = await terminal.run("payer", "show", "302147")
    assert "credentials            refused: HTTP:401: refused\n" in out


async def test_payer_list_in_a_pipe_shows_why_and_when_whole(terminal: Terminal, store: Store) -> None:
    until = NOW + timedelta(days=9)
    async with store.transaction() as tx:
        await tx.payers.lock("302147", now=NOW)
        stopped = PayerStatus("302147", NOW, PayerState.PAUSED, LONG, next_try_at=until)
        await tx.payers.save(stopped)
    _, out, _ = await terminal.run("payer", "list", COLUMNS="80")
    assert f"PAUSED  {LONG}  {until.isoformat(timespec='seconds')}" in out


async def test_an_export_of_an_unknown_claim_fails_and_writes_nothing(
    terminal: Terminal, store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("out") / "export.jsonl"
    code, out, err = await terminal.run("audit", "export", "CLM-none-1", "--output", str(file))
    assert (code, out, file.exists()) == (1, "", False)
    assert "Nothing is kept about CLM-none-1 here" in err
