"""Orders of people: each has a reason and a name on record, and what cannot be undone is confirmed first."""

from datetime import datetime

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from bpmn.names import Header
from domain.claim_state import ClaimState
from domain.operators import NAME_MAX, REASON_MAX, attribution
from persistence.repositories.operator_orders import OperatorOrder
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, draft, later
from tests.support.services import services
from tests.support.terminal import Terminal, terminal
from workers.jobs.close_claim import close_claim
from workers.runtime import Complete, Incident, Job

__all__ = ["terminal"]
on_sqlite = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
PAYER = "302147"
NOBODY = "closed by a message without an order on record"
REASON = ("--reason", "the payer asked for it")
ORDERS = {
    "cancel": ("claim", "cancel", CLAIM),
    "write off": ("claim", "review", CLAIM, "WRITE_OFF"),
    "resend": ("claim", "review", CLAIM, "RESEND"),
    "recover": ("claim", "review", CLAIM, "PROTOCOL_RECOVERED", "--protocol", "1", "--unchecked"),
    "resolve": ("claim", "resolve", CLAIM),
    "deadline": ("claim", "deadline", CLAIM, "--to", "48h"),
    "words": ("claim", "words", CLAIM),
    "pause": ("payer", "pause", PAYER),
    "resume": ("payer", "resume", PAYER),
    "trip": ("payer", "trip", PAYER),
    "probe": ("payer", "probe", PAYER),
    "hold": ("retention", "hold", CLAIM),
    "release": ("retention", "release", CLAIM),
    "redrive": ("dlq", "redrive"),
    "purge": ("dlq", "purge", "--older-than", "1"),
    "run": ("retention", "run"),
    "unlock": ("retention", "unlock", "42"),
}


async def orders(database: AsyncEngine) -> list[tuple[str, str, str, bool]]:
    query = "SELECT action, ordered_by, reason, refused_at IS NOT NULL FROM operator_orders ORDER BY order_id"
    async with database.connect() as connection:
        return [(row[0], row[1], row[2], bool(row[3])) for row in await connection.execute(text(query))]


@on_sqlite
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
async def test_an_order_without_a_reason_is_refused_by_the_options_name_and_does_nothing(
    terminal: Terminal, database: AsyncEngine, order: tuple[str, ...]
) -> None:
    code, out, err = await terminal.run(*order, "--yes", ZEEBE_ADDRESS="localhost:1", COLUMNS="200")
    if "No such option" in err:  # where nothing is lost there is nothing to confirm
        code, out, err = await terminal.run(*order, ZEEBE_ADDRESS="localhost:1", COLUMNS="200")
    assert (code, "--reason" in err, out) == (2, True, ""), err
    assert await orders(database) == []


@on_sqlite
@pytest.mark.parametrize("name", ["cancel", "write off", "resend", "recover", "release", "run"])
async def test_what_cannot_be_undone_is_shown_and_not_done_unconfirmed(
    terminal: Terminal, store: Store, database: AsyncEngine, name: str
) -> None:
    await store.record(draft(now=NOW.replace(year=2015)))
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, PAYER, ClaimState.FAILED, now=NOW)
        await tx.claims.move(CLAIM, ClaimState.IN_REVIEW, now=NOW, reason="PERMANENT_ERROR")
    await terminal.run("retention", "hold", CLAIM, *REASON)
    before = await orders(database)
    asked = (*ORDERS[name], *REASON)
    code, out, err = await terminal.run(*asked, ZEEBE_ADDRESS="localhost:1", COLUMNS="200")
    assert (code, "--yes" in err, out) == (2, True, ""), err
    assert CLAIM in err or "records past their period" in err
    assert await orders(database) == before
    async with store.reading() as tx:
        assert await tx.holds.find(CLAIM)
        assert await tx.decisions.of_claims([CLAIM])


@on_sqlite
async def test_an_order_says_who_gave_it_in_the_record_the_journal_and_the_hold(
    terminal: Terminal, store: Store, database: AsyncEngine
) -> None:
    await store.record(draft())
    hold = ("retention", "hold", CLAIM, "--reason", "case 7")
    await terminal.run(*hold, "--by", "Ana Lima", LOGNAME="ana")
    [(action, by, reason, refused)] = await orders(database)
    assert (action, reason, refused) == ("hold", "case 7", False)
    assert by.startswith("Ana Lima (ana on ")
    _, out, _ = await terminal.run("retention", "holds")
    assert f"case 7 (by {by})" in out
    async with store.reading() as tx:
        assert (await tx.journal.of_claim(CLAIM))[-1].detail == f"hold by {by}: case 7"
    await terminal.run("retention", "release", CLAIM, *REASON, "--yes", REENVIO_OPERATOR="night shift")
    assert (await orders(database))[-1][1].startswith("night shift (")


@on_sqlite
async def test_nobody_signs_as_somebody_else_unseen(terminal: Terminal, database: AsyncEngine) -> None:
    await terminal.run("retention", "run", *REASON, "--yes", "--by", "root on db-1", LOGNAME="mallory")
    assert "(mallory on " in (await orders(database))[0][1]


@on_sqlite
async def test_an_order_that_is_refused_says_so_on_record(terminal: Terminal, database: AsyncEngine) -> None:
    code, _, err = await terminal.run("payer", "pause", "nobody", *REASON, ZEEBE_ADDRESS="localhost:1")
    assert (code, "not known here" in err) == (1, True)
    assert [(order[0], order[3]) for order in await orders(database)] == [("pause", True)]


@on_sqlite
async def test_a_hold_or_an_export_of_an_unknown_claim_is_an_error(
    terminal: Terminal, database: AsyncEngine
) -> None:
    for command in (("retention", "hold", "CLM-none-1", *REASON), ("audit", "export", "CLM-none-1")):
        code, out, err = await terminal.run(*command)
        assert (code, out, "Nothing is kept about CLM-none-1" in err) == (1, "", True)
    assert await orders(database) == []


def test_what_an_operator_writes_is_bounded_and_holds_no_persons_number() -> None:
    given = attribution("x" * 999, "CPF 529.982.247-25 asks\nfor it " + "y" * 9_999)
    assert (len(given.by) <= NAME_MAX, len(given.reason) <= REASON_MAX) == (True, True)
    assert ("529" in given.reason, "\n" in given.reason) == (False, False)


def closing(outcome: ClaimState, **variables: object) -> Job:
    given = {"claimId": CLAIM, **variables}
    return Job(1, "close-claim", "Task_Close", 1, 3, {Header.OUTCOME: outcome}, given)


async def known(store: Store, *orders: OperatorOrder, at: datetime = NOW) -> list[int]:
    """A claim that waits, and what was ordered about it; the orders' ids."""
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, PAYER, ClaimState.WAITING, now=NOW)
        return [await tx.orders.keep(order, now=at) for order in orders]


async def end_of(store: Store, outcome: ClaimState, **variables: object) -> str:
    """What the journal says when the claim is closed."""
    assert isinstance(await close_claim(services(store)).handle(closing(outcome, **variables)), Complete)
    async with store.reading() as tx:
        return (await tx.journal.of_claim(CLAIM))[-1].detail


def order(action: str, by: str, claim: str = CLAIM) -> OperatorOrder:
    return OperatorOrder(action, by, "agreed with the payer", claim)


async def test_a_closed_claim_names_who_ordered_it_and_why(store: Store) -> None:
    meant = order("review WRITE_OFF", "ana on desk-1")
    [_, slip] = await known(store, meant, order("review WRITE_OFF", "bia on desk-2"))
    async with store.transaction() as tx:
        await tx.orders.refused(slip, now=later(minutes=1))
    assert await end_of(store, ClaimState.WRITTEN_OFF) == f"closed on order: {meant}"


@pytest.mark.parametrize("afterwards", ["hold", "cancel", "review WRITE_OFF"])
async def test_a_closed_claim_names_the_order_whose_id_came_with_the_message(
    store: Store, afterwards: str
) -> None:
    meant = order("review WRITE_OFF", "ana on desk-1")
    [order_id, _] = await known(store, meant, order(afterwards, "bia on desk-2"))
    told = await end_of(store, ClaimState.WRITTEN_OFF, closingOrderId=order_id)
    assert told == f"closed on order: {meant}"


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("action", ["resolve", "hold", "review RESEND", "cancel"])
async def test_an_order_of_another_kind_is_not_who_ended_a_claim(
    store: Store, action: str, *, is_named: bool
) -> None:
    [order_id] = await known(store, order(action, "maria on desk-1"))
    variables = {"closingOrderId": order_id} if is_named else {}
    assert await end_of(store, ClaimState.WRITTEN_OFF, **variables) == NOBODY


async def test_an_order_for_an_earlier_wait_is_not_who_ended_a_claim(store: Store) -> None:
    await known(store, order("cancel", "maria on desk-1"), at=later(minutes=-1))
    assert await end_of(store, ClaimState.CANCELLED) == NOBODY


async def test_an_order_about_another_claim_is_not_who_ended_this_one(store: Store) -> None:
    [order_id] = await known(store, order("cancel", "maria on desk-1", "CLM-other-1"))
    assert await end_of(store, ClaimState.CANCELLED, closingOrderId=order_id) == NOBODY


@pytest.mark.parametrize("number", [10**30, -1, "1", 1.5, True])
async def test_a_number_that_is_no_orders_is_an_incident_that_names_the_variable(
    store: Store, number: object
) -> None:
    await known(store)
    told = await close_claim(services(store)).handle(closing(ClaimState.CANCELLED, closingOrderId=number))
    assert isinstance(told, Incident)
    assert "closingOrderId" in told.message


async def test_an_end_that_nobody_ordered_here_is_not_put_down_to_anybody(store: Store) -> None:
    await known(store)
    assert await end_of(store, ClaimState.CANCELLED) == NOBODY
