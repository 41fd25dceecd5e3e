"""What was decided about claims, whichever process sends them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated

import typer

from bpmn.names import Variable
from domain.slots import Wait
from persistence.repositories.decisions import StoredDecision
from persistence.repositories.reviews import Review
from persistence.store import Store, Transaction
from workers.app.cluster import clock_here
from workers.cli.database import with_store
from workers.cli.output import tell
from workers.cli.tables import print_table
from workers.config.settings import read_settings
from workers.runtime.outcome import from_json


def pending(
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 100,
) -> None:
    """Retries that claims wait for, soonest first; of other processes too, until their time has come."""

    settings = read_settings()

    async def go(store: Store) -> None:
        now = await clock_here(settings, store).now()
        async with store.reading() as tx:
            found = await tx.decisions.pending(now, limit + 1)
            waits = await tx.payers.waits_of([one.claim_id for one in found[:limit]])
            held = await _held(tx)
        if found:
            rows = [_cells(one, waits.get(one.claim_id), now) for one in found[:limit]]
            print_table(("claim", "due", "instance", "reason"), rows)
        else:
            tell("No claim waits for a retry.")
        if len(found) > limit:
            tell(f"The next {limit}; there are more: see --limit.")
        if held:
            tell(f"Held for their payer: {held}, see `reenvio claim list --state waiting`.")

    with_store(go, settings)


def decided_facts(decisions: Sequence[StoredDecision], sends: int | None) -> dict[str, str]:
    """The newest decision and how it came to it; without `sends` another process sends the claim."""
    if not decisions:
        return {}
    first, newest = decisions[0], decisions[-1]
    facts = {
        "decided": f"{_time(newest)}: {newest.retry_reason}{_cause(newest)}",
        "failures": f"{len(decisions)} since {_time(first)}, over {_between(first, newest)}",
    }
    return (_elsewhere(newest) | facts) if sends is None else (facts | {"sends": str(sends)})


def _between(first: StoredDecision, newest: StoredDecision) -> timedelta:
    """To the second: nobody reads microseconds."""
    return timedelta(seconds=round((newest.decided_at - first.decided_at).total_seconds()))


def _elsewhere(newest: StoredDecision) -> dict[str, str]:
    state = {"state": f"sent by another process, instance {newest.process_instance_key}"}
    return state | ({"next send": _due(newest)} if newest.should_retry else _team(newest))


def _team(newest: StoredDecision) -> dict[str, str]:
    told = from_json(newest.result).variables.get(Variable.RESPONSIBLE_TEAM)
    return {"team": str(told)} if told else {}  # earlier versions told none


def foreign_review(reviews: Sequence[Review], decisions: Sequence[StoredDecision]) -> dict[str, str]:
    """The review of a claim that another process sends; one that waits for a retry waits for no person."""
    if not reviews or (decisions and decisions[-1].should_retry):
        return {}
    latest = reviews[-1]
    return {"review": f"{latest.reason}: {latest.detail}" if latest.detail else latest.reason}


def _cause(decision: StoredDecision) -> str:
    return f" (cause {decision.cause})" if decision.cause else ""


def _cells(decision: StoredDecision, wait: Wait | None, now: datetime) -> tuple[str, ...]:
    """A claim that its payer holds is not late: its retry's time has passed, its wait has not."""
    due, reason = decision.next_retry_time or now, decision.retry_reason
    if wait:
        due, reason = wait.until, f"held for payer {wait.payer_id}; {reason}"
    before, after = "held until " if wait else "", " (overdue)" if due < now else ""
    shown = f"{before}{due.isoformat(timespec='seconds')}{after}"
    return decision.claim_id, shown, str(decision.process_instance_key), reason


async def _held(tx: Transaction) -> int:
    return sum([await tx.payers.count_waiting(payer.payer_id) for payer in await tx.payers.all()])


def _due(decision: StoredDecision) -> str:
    due = decision.next_retry_time
    return due.isoformat(timespec="seconds") if due else ""


def _time(decision: StoredDecision) -> str:
    return decision.decided_at.isoformat(timespec="seconds")
