"""`reenvio claim deadline`: says what it was, how to set it back, and what is wrong with what was written."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.claim_state import ClaimState
from persistence.store import Store
from tests.support.faults.messages import message_broker
from tests.support.terminal import Terminal, terminal

__all__ = ["terminal"]
pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
CLAIM = "CLM-001-1234567890"
WHY = ("--reason", "the payer moved it")


async def test_a_deadline_is_changed_by_command_and_set_back_by_what_it_says(
    terminal: Terminal, store: Store
) -> None:
    now = datetime.now(UTC)
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "p", ClaimState.SUBMITTING, now=now, process_instance_key=7)
        await tx.claims.move(CLAIM, ClaimState.WAITING, now=now, next_retry_time=now + timedelta(hours=1))
    async with message_broker() as broker:
        command = ("claim", "deadline", CLAIM)
        code, _, err = await terminal.run(*command, "--to", "1h ago", *WHY, ZEEBE_ADDRESS=broker.address)
        assert (code, "deadline: it is neither a moment nor a duration (rule: ISO 8601)." in err) == (1, True)
        code, out, err = await terminal.run(*command, "--to", "72h", *WHY, ZEEBE_ADDRESS=broker.address)
        assert code == 0, err
        assert "it was none." in out
        back = f"`reenvio claim deadline {CLAIM} --to none --reason ...`"
        assert back in out
        code, out, _ = await terminal.run(*command, "--to", "none", *WHY, ZEEBE_ADDRESS=broker.address)
        assert (code, f"{CLAIM} is due none" in out) == (0, True)
        assert [one.variables for one in broker.set][1:] == ['{"deadline": null}']
        soon = await terminal.run(*command, "--to", "4h", *WHY, ZEEBE_ADDRESS=broker.address)
        assert "it was woken, and goes now" in soon[1]
        assert [one.name for one in broker.taken] == ["retry-now"]
    found = await store.look(lambda tx: tx.claims.find(CLAIM))
    assert found
    assert found.deadline
