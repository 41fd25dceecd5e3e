"""`reenvio mail tenants`: the six figures of TenantFairnessMetrics, from what workers noted."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from domain.mail.fairness import FairnessTerms, TenantFairnessMetrics
from domain.mail.tenants import FRESH, NotedTenant, all_together
from gateways.engine_clock import EngineClockError
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.terminal import Terminal, terminal
from workers.mail.lane_order import FairOrder
from workers.mail.tenants import TenantNotes, tenants_noted
from workers.runtime.lanes import Lane

__all__ = ["terminal"]
on_sqlite = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
BIG, SMALL = Lane("0", "big"), Lane("1", "small")


class Now:
    """The machine's own clock, which the command has too."""

    async def now(self) -> datetime:
        return datetime.now(UTC)


async def worked(order: FairOrder, *turns: tuple[Lane, int]) -> None:
    for lane, number in turns:
        order.next_turn([BIG, SMALL])
        await order.served(lane, [lane.tenant] * number)


async def test_a_workers_turns_are_shown_under_the_documents_names(terminal: Terminal, store: Store) -> None:
    order = FairOrder(FairnessTerms(), Now())
    notes = TenantNotes(store, Now(), "worker-1")
    await worked(order, (BIG, 3), (SMALL, 3), (BIG, 2))
    assert await notes.note(order) == 2
    code, out, _ = await terminal.run("mail", "tenants", "--json")
    big, small = json.loads(out)
    assert code == 0
    assert datetime.now(UTC) - datetime.fromisoformat(big.pop("lastProcessedAt")) < timedelta(minutes=5)
    assert big == {
        "companyId": "big", "roundsWithoutProcessing": 0, "currentPriority": 5, "totalProcessed": 5,
        "consecutiveBatchCount": 2,
    }  # fmt: skip
    assert (small["roundsWithoutProcessing"], small["currentPriority"], small["totalProcessed"]) == (1, 4, 3)
    _, table, _ = await terminal.run("mail", "tenants", "--company", "small")
    assert list(big) == [name for name in table.splitlines()[0].split() if name != "lastProcessedAt"]
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["small"]


@on_sqlite
async def test_where_nobody_has_sent_mail_it_is_said(terminal: Terminal) -> None:
    _, out, _ = await terminal.run("mail", "tenants", "--company", "none")
    assert out.startswith("No mail was taken up in the last 7 days of none")
    assert json.loads((await terminal.run("mail", "tenants", "--json"))[1]) == []


@on_sqlite
async def test_only_what_has_changed_or_is_passed_over_is_written_again(store: Store) -> None:
    order = FairOrder(FairnessTerms(), Now())
    notes = TenantNotes(store, Now(), "worker-1")
    await worked(order, (BIG, 3), (SMALL, 1))
    assert await notes.note(order) == 2
    assert await notes.note(order) == 1  # big is passed over


class SilentClock:
    async def now(self) -> datetime:
        raise EngineClockError("the engine is away")


@on_sqlite
async def test_a_clock_that_does_not_answer_keeps_no_worker_from_ending(store: Store) -> None:
    order = FairOrder(FairnessTerms(), Now())
    await worked(order, (BIG, 3))
    async with tenants_noted(TenantNotes(store, SilentClock(), "worker-1"), order):
        pass
    assert await TenantNotes(store, Now(), "worker-1").note(order) == 2, "nothing was noted before"


def figures(**changes: object) -> TenantFairnessMetrics:
    given: dict[str, object] = {
        "last_processed_at": NOW, "rounds_without_processing": 0, "current_priority": 5, "total_processed": 1,
        "consecutive_batch_count": 0,
    } | changes  # fmt: skip
    return TenantFairnessMetrics(company_id="a", **given)  # type: ignore[arg-type]


def test_workers_figures_are_put_together_and_old_turns_are_nobodys() -> None:
    waits = {"rounds_without_processing": 3, "current_priority": 2}
    noted = [
        NotedTenant(figures(total_processed=4, last_processed_at=None), NOW),
        NotedTenant(figures(total_processed=2, last_processed_at=later(seconds=5), **waits), NOW),
        NotedTenant(figures(consecutive_batch_count=2), later(days=-1)),
    ]
    [both] = all_together(noted, 5, NOW)
    assert both == figures(total_processed=7, last_processed_at=later(seconds=5), **waits)
    [old] = all_together(noted, 5, NOW + 2 * FRESH)
    assert old == figures(total_processed=7, last_processed_at=later(seconds=5))
