"""What a command tells its operator: no success that is none, no question before a refusal, a remedy."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.operators import attribution
from domain.refusals import ClaimRefusal, Refusal
from persistence.repositories.claims import ClaimRow
from persistence.repositories.incidents import StuckJob
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, draft, later
from tests.support.intake_stage import DERIVED, FILE, PAYERS, intake_stage
from tests.support.terminal import Terminal, terminal
from tests.support.tiss_samples import PAYER as OTHERS
from tests.support.tiss_samples import file_bytes, file_text
from workers.claims.confirmation import confirmed
from workers.claims.examination import ClaimFile
from workers.claims.messages import KEEP_WISH
from workers.claims.ordering import Subject, ordered

__all__ = ["terminal"]
on_sqlite = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
PAYER = "302147"
NOWHERE = {"ZEEBE_ADDRESS": "localhost:1", "COLUMNS": "200"}
STUCK = StuckJob("the key old is not set.", NOW, "submit-claim", 7, 7, "Task_SubmitClaim", 6, 5)
WAITING = ClaimRow(CLAIM, PAYER, ClaimState.WAITING, 3, later(minutes=9), None, "Retry 3 of 5", NOW)
REASON = ("--reason", "the payer asked for it")


class Seen:
    """A store that shows a claim as it was at each look in turn; the last stays."""

    def __init__(self, *rows: ClaimRow) -> None:
        self.rows = list(rows)

    async def look(self, _work: Callable[..., Awaitable[Any]]) -> ClaimRow:
        return self.rows.pop(0) if len(self.rows) > 1 else self.rows[0]


def seen(*rows: ClaimRow) -> Store:
    return cast("Store", Seen(*rows))


async def test_a_wish_after_which_the_claim_stands_on_an_incident_is_no_success() -> None:
    stuck = replace(WAITING, incident=STUCK)
    with pytest.raises(Exception, match=r"stands on an incident since .* the key old is not set") as told:
        await confirmed(seen(WAITING, stuck), WAITING, kept=KEEP_WISH)
    assert f"`reenvio claim resolve {CLAIM}`" in str(told.value)


async def test_a_claim_that_is_under_way_is_looked_at_again_before_it_is_called_a_success() -> None:
    sending = replace(WAITING, state=ClaimState.SUBMITTING, updated_at=later(minutes=1))
    stuck = replace(sending, incident=STUCK)
    with pytest.raises(Exception, match="stands on an incident"):
        await confirmed(seen(WAITING, sending, sending, stuck), WAITING, kept=KEEP_WISH)


async def waiting(store: Store) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, PAYER, ClaimState.WAITING, now=NOW)


async def accepted(store: Store) -> None:
    await waiting(store)
    async with store.transaction() as tx:
        await tx.claims.close(CLAIM, ClaimState.ACCEPTED, now=NOW, reason=None)


@on_sqlite
@pytest.mark.parametrize(
    "order", [("review", CLAIM, "RESEND"), ("review", CLAIM, "WRITE_OFF"), ("cancel", CLAIM)]
)
async def test_what_cannot_be_done_is_refused_before_anybody_is_asked(
    terminal: Terminal, store: Store, order: tuple[str, ...]
) -> None:
    await accepted(store)
    code, out, err = await terminal.run("claim", *order, *REASON, **NOWHERE)
    assert (code, out) == (1, ""), err
    assert "is ACCEPTED, and this can be asked only while it is" in err
    assert "--yes" not in err


@on_sqlite
async def test_who_writes_a_claim_off_is_told_that_the_payer_may_have_it(
    terminal: Terminal, store: Store
) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, PAYER, ClaimState.FAILED, now=NOW)
        await tx.attempts.start(CLAIM, 7, now=NOW)  # its answer never came
        await tx.claims.move(CLAIM, ClaimState.IN_REVIEW, now=NOW, reason="ARRIVAL_UNKNOWN")
    _, _, err = await terminal.run("claim", "review", CLAIM, "WRITE_OFF", *REASON, **NOWHERE)
    assert "The payer may have it" in err


@on_sqlite
async def test_who_leaves_the_yes_out_is_told_to_add_it(terminal: Terminal, store: Store) -> None:
    await waiting(store)
    code, _, err = await terminal.run("claim", "cancel", CLAIM, *REASON, **NOWHERE)
    assert code == 2
    assert "add --yes" in err


@on_sqlite
async def test_a_relay_that_is_only_to_count_carries_nothing(terminal: Terminal) -> None:
    code, out, err = await terminal.run("relay", "--dry-run", "--once", **NOWHERE)
    assert (code, out, "--from" in err) == (2, "", True), err


@on_sqlite
async def test_a_list_of_claims_tells_the_errors_themselves(terminal: Terminal, store: Store) -> None:
    stuck = "CLM-stuck-1"
    async with store.transaction() as tx:
        for claim in (CLAIM, stuck):
            await tx.claims.put(claim, PAYER, ClaimState.FAILED, now=NOW)
        await tx.incidents.note(stuck, STUCK, sends=True)
    await store.record(draft())
    async with store.reading() as tx:
        [stored] = await tx.decisions.of_claims([CLAIM])
    assert stored.submission_error
    _, out, err = await terminal.run("claim", "list")
    by_claim = {line.split()[0]: line for line in out.splitlines() if line.startswith("CLM-")}
    assert f"{stored.retry_reason}: {stored.submission_error}" in by_claim[CLAIM], err
    assert STUCK.message in by_claim[stuck]


async def test_an_order_that_came_to_nothing_is_told_as_that_in_the_claims_story(store: Store) -> None:
    await waiting(store)
    given = attribution("ana on desk-1", "the cause is mended")
    with pytest.raises(ClaimRefusal):
        async with ordered(store, "resolve", Subject(CLAIM), given, NOW):
            raise ClaimRefusal("there is nothing to resolve")
    async with store.reading() as tx:
        story = await tx.journal.of_claim(CLAIM)
    assert [(entry.event, "ana on desk-1" in entry.detail) for entry in story][-2:] == [
        ("ordered", True),
        ("order_refused", True),
    ]


@on_sqlite
async def test_the_file_of_another_payer_is_refused_in_words_that_help(store: Store, tmp_path: Path) -> None:
    other = '[payers.302147]\nendpoint = "https://other.example"\nversion = "4.03.00"\n'
    async with intake_stage(store, tmp_path, payers=PAYERS + other) as stage:
        await stage.intake.submit(ClaimFile(FILE))
        await store.run(lambda tx: tx.claims.put(DERIVED, OTHERS, ClaimState.FAILED, now=NOW))
        file = file_bytes(file_text().replace(f">{OTHERS}<", ">302147<"))
        with pytest.raises(Refusal) as told:
            await stage.intake.correct(ClaimId(DERIVED), file)
    assert f"the file is for registroANS 302147, not for payer {OTHERS}" in str(told.value)
    assert "Name the payer" not in str(told.value)
