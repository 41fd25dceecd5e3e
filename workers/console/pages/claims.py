"""Claims: a list that its address describes, and the same as CSV."""

import csv
import io
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response, StreamingResponse

from domain.catalog import Team
from persistence.repositories.claim_lists import AskedPage, ListedState, ListOrder, ListPlace
from persistence.repositories.claims import ClaimRow
from persistence.repositories.saved_filters import SavedFilter
from persistence.store import Transaction
from workers.console.pages.visit import Visit, render, times_of
from workers.console.views.claim_list import (
    AskedList,
    Beside,
    ListedClaim,
    categories,
    listed,
    place_of,
    read_asked,
    read_place,
)

PAGE = 50
COUNTED_MOST = 10_001
EXPORT_PAGE, EXPORT_MOST = 1_000, 100_000
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - wide ones count too


@dataclass(frozen=True, slots=True)
class LookedList:
    """A page of the list, of one moment, and the lists that who asks has kept."""

    page: Sequence[ClaimRow]
    known: Beside
    number: int
    payers: Sequence[str]
    saved: Sequence[SavedFilter]


async def claims_page(visit: Visit) -> Response:
    """The list, from the place where the page before ended."""
    asked, after = read_asked(visit.request.query_params), read_place(visit.request.query_params)
    wanted, order = asked.filter(visit.now), ListOrder(asked.order)

    async def look(tx: Transaction) -> LookedList:
        page = await tx.claim_lists.page(wanted, AskedPage(order, PAGE + 1, after))
        return LookedList(
            page,
            await beside(tx, page[:PAGE]),
            await tx.claim_lists.count(wanted, COUNTED_MOST),
            [one.payer_id for one in await tx.payers.all()],
            await tx.saved_filters.of(visit.person.person_id),
        )

    looked = await visit.console.store.look(look)
    page, number = looked.page, looked.number
    more = asked.address(**place_of(page[PAGE - 1], asked.order)) if len(page) > PAGE else ""
    return render(
        visit,
        "claims.html",
        asked=asked,
        rows=listed(page[:PAGE], looked.known, times_of(visit)),
        number=_number(visit, number),
        is_one=number == 1,
        next_page=more,
        is_first=after is None,
        payers=looked.payers,
        saved=looked.saved,
        query=asked.address("").removeprefix("?"),
        categories=categories(visit.words),
        states=list(ListedState),
        teams=list(Team),
        orders=list(ListOrder),
    )


async def beside(tx: Transaction, page: Sequence[ClaimRow]) -> Beside:
    """What is known of a page's claims beside their rows."""
    ids = [claim.claim_id for claim in page]
    if not ids:
        return Beside({}, {}, {})
    decided = {one.claim_id: one for one in await tx.decisions.of_claims(ids)}
    states = {one.payer_id: one.state for one in await tx.payers.all()}
    waits = (await tx.payers.waits_of(ids)).values()
    held = {wait.claim_id: states[wait.payer_id] for wait in waits if wait.payer_id in states}
    return Beside(held, await tx.reviews.teams(ids), decided)


async def claims_export(visit: Visit) -> Response:
    """All of the list as CSV, whatever the page shows."""
    asked = read_asked(visit.request.query_params)
    name = f"reenvio-{visit.now.astimezone(visit.console.zone):%Y%m%d-%H%M}.csv"
    return StreamingResponse(
        _lines(visit, asked),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


async def _lines(visit: Visit, asked: AskedList) -> AsyncIterator[str]:
    """Page by page; a semicolon apart and with a mark at the front, as spreadsheets here open it."""
    heads = ("claim", "batch", "payer", "state", "reason", "deadline", "attempts", "protocol", "created")
    yield "\ufeff" + _line([visit.words(f"csv.{head}") for head in heads])
    wanted, order, times = asked.filter(visit.now), ListOrder(asked.order), times_of(visit)
    after: ListPlace | None = None
    for _ in range(EXPORT_MOST // EXPORT_PAGE):
        asked_page = AskedPage(order, EXPORT_PAGE, after)

        async def look(tx: Transaction, page: AskedPage = asked_page) -> tuple[Sequence[ClaimRow], Beside]:
            claims = await tx.claim_lists.page(wanted, page)
            return claims, await beside(tx, claims)

        claims, known = await visit.console.store.look(look)
        rows = zip(claims, listed(claims, known, times), strict=True)
        yield "".join(_line(_cells(claim, row, visit)) for claim, row in rows)
        if len(claims) < EXPORT_PAGE:
            return
        after = read_place(place_of(claims[-1], asked.order))


def _cells(claim: ClaimRow, row: ListedClaim, visit: Visit) -> Sequence[str]:
    moments = [_moment(at, visit) for at in (claim.deadline, claim.created_at)]
    head = claim.claim_id, claim.batch_number or "", claim.payer_id, row.state.text, row.reason
    return *head, moments[0], str(row.attempts), claim.protocol_number or "", moments[1]


def _moment(at: datetime | None, visit: Visit) -> str:
    return at.astimezone(visit.console.zone).isoformat(sep=" ", timespec="seconds") if at else ""


def _line(cells: Sequence[str]) -> str:
    """One line; a cell that a spreadsheet would reckon with is made a text."""
    written = io.StringIO()
    safe = [f"'{cell}" if cell.startswith(FORMULA_SIGNS) else cell for cell in cells]
    csv.writer(written, delimiter=";", lineterminator="\r\n").writerow(safe)
    return written.getvalue()


def _number(visit: Visit, number: int) -> str:
    most = COUNTED_MOST - 1
    return f"{visit.words.number(most)}+" if number > most else visit.words.number(number)
