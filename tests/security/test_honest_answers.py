"""What a command tells its operator: no success that is none, no question before a refusal, a remedy."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from domain.claim_state import ClaimState
from persistence.repositories.claims import ClaimRow
from persistence.repositories.incidents import StuckJob
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, later
from tests.support.terminal import Terminal, terminal
from workers.claims.confirmation import confirmed
from workers.claims.messages import KEEP_WISH

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
async def test_who_leaves_the_yes_out_is_told_to_add_it(terminal: Terminal, store: Store) -> None:
    await waiting(store)
    code, _, err = await terminal.run("claim", "cancel", CLAIM, *REASON, **NOWHERE)
    assert code == 2
    assert "add --yes" in err


@on_sqlite
async def test_a_relay_that_is_only_to_count_carries_nothing(terminal: Terminal) -> None:
    code, out, err = await terminal.run("relay", "--dry-run", "--once", **NOWHERE)
    assert (code, out, "--from" in err) == (2, "", True), err
