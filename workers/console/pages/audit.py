"""The audit trail: what people ordered of late, and one claim's or payer's records, each proven or not."""

from collections.abc import Sequence

from starlette.responses import Response

from domain.legible import printable_line
from persistence.audit.claim_seal import ReadTrail
from persistence.repositories.claim_lists import AskedPage, ClaimFilter, ListOrder
from persistence.repositories.logins import PEOPLE_CHAIN
from persistence.repositories.noting import payer_chain
from persistence.repositories.operator_orders import NO_SUBJECT, KeptOrder
from persistence.store import Transaction
from workers.console.pages.visit import Visit, render, times_of
from workers.console.views.trail import order_rows, seal_view, trail_lines

ORDERS_SHOWN = 50
EVENTS_SHOWN = 500
FOUND_MOST = 20
TEXT_MOST = 128
GENERAL = {NO_SUBJECT: "audit.orders_trail", PEOPLE_CHAIN: "audit.people_trail"}


async def audit_page(visit: Visit) -> Response:
    """The newest orders, and where to ask for a trail."""

    async def look(tx: Transaction) -> tuple[Sequence[KeptOrder], list[str]]:
        return await tx.orders.newest(ORDERS_SHOWN), [one.payer_id for one in await tx.payers.all()]

    orders, payers = await visit.console.store.look(look)
    rows = order_rows(orders, times_of(visit))
    return render(visit, "audit.html", orders=rows, payers=payers)


async def trail_page(visit: Visit) -> Response:
    """The trail of what the address names; several claims fit a batch's number, and are listed then."""
    claim, payer = (
        printable_line(visit.request.query_params.get(name, ""))[:TEXT_MOST].strip()
        for name in ("claim", "payer")
    )
    general = PEOPLE_CHAIN if visit.request.query_params.get("of") == "people" else NO_SUBJECT
    chain = claim or (payer_chain(payer) if payer else general)
    trail, others = await visit.console.store.look(lambda tx: _found(tx, chain, claim))
    if others:
        return render(visit, "trails.html", asked=claim, claims=others)
    words = visit.words
    first = trail.events[0].event.sequence if trail.events else 1
    return render(
        visit,
        "trail.html",
        title=claim or payer or words(GENERAL[general]),
        kind="claim" if claim else "payer" if payer else "orders",
        seal=seal_view(trail.state, "audit_seal", words),
        lines=trail_lines(trail.events, times_of(visit)),
        number=len(trail.events),
        is_cut=trail.is_cut,
        begins_late=first if first > 1 and not trail.is_cut else 0,
    )


async def _found(tx: Transaction, chain: str, claim: str) -> tuple[ReadTrail, Sequence[str]]:
    trail = await tx.audit.trail_of(chain, EVENTS_SHOWN)
    if trail.events or not claim:
        return trail, ()
    page = await tx.claim_lists.page(ClaimFilter(text=claim), AskedPage(ListOrder.NEWEST, FOUND_MOST, None))
    if len(page) == 1:
        return await tx.audit.trail_of(page[0].claim_id, EVENTS_SHOWN), ()
    return trail, [one.claim_id for one in page]
