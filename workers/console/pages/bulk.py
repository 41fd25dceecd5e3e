"""Orders about many claims: previewed, placed, confirmed by a second person, watched, stopped."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import parse_qsl

from starlette.responses import Response

from domain.access import Permission
from domain.bulk_orders import NEEDS, BulkAction, BulkItemState, BulkRefusal
from domain.legible import is_text
from domain.operators import attribution
from persistence.repositories.bulk_orders import BulkItem, BulkOrder, BulkProgress
from persistence.store import Transaction
from workers.claims.bulk_desk import BulkPreview, BulkWish, Signer
from workers.console.pages.reviews import fitting, group_title
from workers.console.pages.visit import Visit, go, render, times_of
from workers.console.views.bulk import bulk_view, not_done_rows, preview_sentence, share_rows
from workers.console.views.reviews import QUERY_MOST, AskedDesk, read_desk

NEWEST, NOT_DONE_MOST = 50, 100
TWICE = timedelta(minutes=1)
Answer = Callable[[Visit], Awaitable[Response]]
PATHS = {action: f"/reviews/do/{action.lower().replace('_', '-')}" for action in BulkAction}
SAID = frozenset({"no_reason", "same_person", "moved_on"})


@dataclass(frozen=True, slots=True)
class LookedBulk:
    """An order, of one moment."""

    order: BulkOrder
    progress: BulkProgress
    not_done: Sequence[BulkItem]


def preview_of(action: BulkAction) -> Answer:
    """The page that says what an order would do now."""

    async def answer(visit: Visit) -> Response:
        asked = read_desk(visit.request.query_params)
        if action not in fitting(asked):
            return render(visit, "error.html", 404, message="bulk.not_for_these", status=404)
        preview = await visit.console.bulk.preview(action, asked.filter(visit.person.login))
        return _previewed(visit, asked, preview)

    return answer


def place_of(action: BulkAction) -> Answer:
    """Takes the order, if the claims are still those that were seen."""

    async def answer(visit: Visit) -> Response:
        asked = read_desk(dict(parse_qsl(visit.field("selection")[:QUERY_MOST])))
        why, wanted = visit.field("reason"), asked.filter(visit.person.login)
        signer = signer_of(visit, why)
        if action not in fitting(asked):
            return render(visit, "error.html", 404, message="bulk.not_for_these", status=404)
        if not signer.given.reason or not is_text(why):
            preview = await visit.console.bulk.preview(action, wanted)
            return _previewed(visit, asked, preview, status=400, problem="no_reason")
        by_two = action is BulkAction.WRITE_OFF and visit.console.settings.write_off_by_two
        wish = BulkWish(action, wanted, asked.address(), visit.field("mark"), by_two)
        try:
            placed = await visit.console.bulk.place(wish, signer)
        except BulkRefusal as refusal:
            preview, problem = await visit.console.bulk.preview(action, wanted), refusal.why
        else:
            if isinstance(placed, int):
                return go(f"/reviews/bulk/{placed}")
            preview, problem = placed, "changed"
        before = await _placed_before(visit, wish, signer)
        if before:
            return go(f"/reviews/bulk/{before}")
        return _previewed(visit, asked, preview, status=409, problem=problem)

    return answer


async def _placed_before(visit: Visit, wish: BulkWish, signer: Signer) -> int | None:
    """The same order of the same person, a moment ago: who sends it twice means it once."""
    newest = await visit.console.store.look(lambda tx: tx.bulk_orders.newest(NEWEST))
    meant = (wish.action, wish.selection, signer.login, signer.given.reason, visit.field("number"))
    for one in newest:
        known = (one.action, one.selection, one.login, one.reason, str(one.number))
        if known == meant and visit.now - one.ordered_at < TWICE:
            return one.bulk_id
    return None


def signer_of(visit: Visit, why: str) -> Signer:
    """Who asks, as orders name them."""
    return Signer(visit.person.login, attribution(visit.person.signature, why))


def _previewed(
    visit: Visit, asked: AskedDesk, preview: BulkPreview, *, status: int = 200, problem: str = ""
) -> Response:
    before = visit.field("number")
    return render(
        visit,
        "bulk_preview.html",
        status,
        asked=asked,
        title=group_title(asked, visit),
        action=preview.action.value,
        path=PATHS[preview.action],
        preview=preview,
        sentence=preview_sentence(preview, times_of(visit)),
        shares=share_rows(preview, times_of(visit)),
        by_two=preview.action is BulkAction.WRITE_OFF and visit.console.settings.write_off_by_two,
        problem=problem,
        before=before if before.isdecimal() else "",
        reason=visit.field("reason")[:500],
        selection=asked.address("").removeprefix("?"),
    )


async def history_page(visit: Visit) -> Response:
    """What was ordered of many claims, newest first, and what came of it."""

    async def look(tx: Transaction) -> Sequence[LookedBulk]:
        newest = await tx.bulk_orders.newest(NEWEST)
        return [LookedBulk(one, await tx.bulk_orders.progress(one.bulk_id), ()) for one in newest]

    looked, times = await visit.console.store.look(look), times_of(visit)
    rows = [bulk_view(one.order, one.progress, times) for one in looked]
    return render(visit, "bulk_history.html", rows=rows)


async def bulk_page(visit: Visit) -> Response:
    """One order: how far it has come, and what came of it."""
    return await _shown(visit, "bulk_order.html")


async def bulk_part(visit: Visit) -> Response:
    """The same without the frame, for the page that renews itself."""
    return await _shown(visit, "bulk_live.html")


async def _shown(visit: Visit, template: str) -> Response:
    looked = await _looked(visit)
    if looked is None:
        return render(visit, "error.html", 404, message="bulk.unknown", status=404)
    order, said = looked.order, visit.request.query_params.get("said", "")
    is_mine = order.login == visit.person.login
    may = visit.may(NEEDS[order.action])
    return render(
        visit,
        template,
        bulk=bulk_view(order, looked.progress, times_of(visit)),
        refused=not_done_rows(looked.not_done, visit.words),
        may_confirm=may and not is_mine,
        may_stop=may,
        is_mine=is_mine,
        said=said if said in SAID else "",
        seen_at=times_of(visit).at(visit.now),
    )


async def _looked(visit: Visit) -> LookedBulk | None:
    text = str(visit.request.path_params["bulk_id"])
    bulk_id = int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0
    states = BulkItemState.REFUSED, BulkItemState.SKIPPED

    async def look(tx: Transaction) -> LookedBulk | None:
        order = await tx.bulk_orders.find(bulk_id)
        if order is None:
            return None
        not_done = await tx.bulk_orders.items(bulk_id, NOT_DONE_MOST, *states)
        return LookedBulk(order, await tx.bulk_orders.progress(bulk_id), not_done)

    return await visit.console.store.look(look)


async def confirm_bulk(visit: Visit) -> Response:
    """A second person lets it begin."""
    return await _steered(visit, visit.console.bulk.confirm)


async def stop_bulk(visit: Visit) -> Response:
    """Withdrawn, or ended midway."""
    return await _steered(visit, visit.console.bulk.stop)


async def _steered(visit: Visit, order: Callable[[int, Signer], Awaitable[None]]) -> Response:
    looked = await _looked(visit)
    if looked is None:
        return render(visit, "error.html", 404, message="bulk.unknown", status=404)
    if not visit.may(Permission(NEEDS[looked.order.action])):
        return render(visit, "denied.html", 403)
    path, why = f"/reviews/bulk/{looked.order.bulk_id}", visit.field("reason")
    signer = signer_of(visit, why)
    if not signer.given.reason or not is_text(why):
        return go(path, said="no_reason")
    try:
        await order(looked.order.bulk_id, signer)
    except BulkRefusal as refusal:
        return go(path, said=refusal.why)
    return go(path)
