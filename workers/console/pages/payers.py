"""Payers: a list, a page each, and what may be ordered of them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta

from starlette.responses import Response

from domain.access import Permission
from domain.errors import Trouble
from domain.intake import moment_ahead
from domain.legible import is_text, printable_line
from domain.operators import Attribution, attribution
from domain.payer_status import PayerStatus
from domain.refusals import Refusal
from gateways.tiss.certificates import CertificateEnd, certificate_ends
from persistence.database.trouble import DatabaseError
from persistence.repositories.figures import PayerFigures
from persistence.store import Transaction
from workers.console.pages.visit import Visit, go, render, times_of
from workers.console.views.payer_board import (
    SeenBeside,
    SeenPayers,
    board,
    offered,
    payer_page,
    sheet,
    since_day,
)
from workers.console.views.strips import SPAN
from workers.payers.limits import LimitsByPayer
from workers.payers.orders import StaysStopped, UnknownPayer
from workers.upkeep.probing import Probing

MINUTE = timedelta(minutes=1)
ORDERS_SHOWN = 10
SAID = {
    "paused": "done",
    "tripped": "done",
    "resumed": "done",
    "probed": "done",
    "stays_stopped": "stopped",
    "bad_until": "stopped",
    "refused": "stopped",
    "no_reason": "stopped",
}
Ordering = Callable[[Visit, str, Attribution], Awaitable[None]]


async def payers_page(visit: Visit) -> Response:
    """Every payer that is set up here or was ever sent to."""
    limits = visit.console.limits
    ends = await asyncio.to_thread(certificates_of, limits, list(limits.settings))
    seen = await visit.console.store.look(lambda tx: _seen(tx, visit, ends))
    return render(visit, "payers.html", lines=board(seen, limits, times_of(visit)))


async def one_payer(visit: Visit) -> Response:
    """One payer; an id that nobody knows is a page that says so."""
    payer_id = visit.request.path_params["payer_id"]
    limits = visit.console.limits
    ends = await asyncio.to_thread(certificates_of, limits, [payer_id])
    seen = await visit.console.store.look(lambda tx: _seen(tx, visit, ends, payer_id))
    if not seen.figures:
        return render(visit, "error.html", 404, message="payers.unknown", status=404)
    [payer] = seen.figures
    beside = await visit.console.store.look(lambda tx: _beside(tx, payer_id, visit.now))
    said = visit.request.query_params.get("said", "")
    return render(
        visit,
        "payer.html",
        sheet=sheet(payer, seen, beside, (limits, times_of(visit))),
        payer=payer.status,
        held=payer.waiting,
        offered=offered(payer) if visit.may(Permission.STEER_PAYERS) else frozenset(),
        needs_proof=limits.of(payer_id).needs_proof,
        said=said if said in SAID else "",
        tone=SAID.get(said, ""),
    )


async def _seen(
    tx: Transaction,
    visit: Visit,
    ends: Mapping[str, Sequence[CertificateEnd]],
    payer_id: str | None = None,
) -> SeenPayers:
    now, wanted = visit.now, visit.console.limits.settings
    known = {one.status.payer_id: one for one in await tx.figures.payers(now)}
    fresh = {name: PayerFigures(PayerStatus(name, now), 0, 0) for name in wanted if name not in known}
    figures = [one for name, one in (known | fresh).items() if payer_id in (None, name)]
    moves = await tx.payer_traffic.moves(now - SPAN, payer_id) if figures else ()
    answers = await tx.payer_traffic.answers(since_day(now), now - MINUTE) if figures else ()
    mine = [one for one in answers if payer_id in (None, one.payer_id)]
    return SeenPayers(figures, moves, mine, ends)


async def _beside(tx: Transaction, payer_id: str, now: datetime) -> SeenBeside:
    failures = await tx.payer_traffic.failures(since_day(now), payer_id)
    orders = await tx.orders.about_payer(payer_id, ORDERS_SHOWN)
    return SeenBeside(failures, orders, await tx.payer_traffic.with_slot(payer_id))


def certificates_of(limits: LimitsByPayer, payers: Sequence[str]) -> Mapping[str, Sequence[CertificateEnd]]:
    """Files may lie on a slow disk: read beside the loop."""
    known = {name: limits.settings[name] for name in payers if name in limits.settings}
    return {name: tuple(certificate_ends(payer)) for name, payer in known.items()}


async def pause_payer(visit: Visit) -> Response:
    """Hold all its claims."""
    return await _steered(visit, _pause, "paused")


async def trip_payer(visit: Visit) -> Response:
    """Hold them as an outage would; it tries again by itself."""
    return await _steered(visit, _trip, "tripped")


async def resume_payer(visit: Visit) -> Response:
    """Let them go again."""
    return await _steered(visit, _resume, "resumed")


async def probe_payer(visit: Visit) -> Response:
    """Look now whether it is there."""
    return await _steered(visit, _probe, "probed")


async def _pause(visit: Visit, payer_id: str, given: Attribution) -> None:
    text = visit.field("until").strip()
    until = moment_ahead("moment", text, visit.now, visit.console.zone) if text else None
    await visit.console.payers.pause(payer_id, given, until=until)


async def _trip(visit: Visit, payer_id: str, given: Attribution) -> None:
    await visit.console.payers.trip(payer_id, given)


async def _resume(visit: Visit, payer_id: str, given: Attribution) -> None:
    await visit.console.payers.resume(payer_id, given)


async def _probe(visit: Visit, payer_id: str, given: Attribution) -> None:
    steering = visit.console.payers
    probing = Probing(steering.store, steering.limits, steering.waker)
    await probing.as_ordered(payer_id, given, visit.now)


async def _steered(visit: Visit, order: Ordering, done: str) -> Response:
    """Carry an order out, signed by who asks; and back to the payer, with what came of it."""
    payer_id, why = visit.request.path_params["payer_id"], visit.field("reason")
    path, given = payer_page(payer_id), attribution(visit.person.signature, why)
    if not given.reason or not is_text(why):
        return go(path, said="no_reason")
    if printable_line(payer_id) != payer_id or len(payer_id) > 64:
        return render(visit, "error.html", 404, message="payers.unknown", status=404)
    try:
        await order(visit, payer_id, given)
    except UnknownPayer:
        return render(visit, "error.html", 404, message="payers.unknown", status=404)
    except StaysStopped:
        return go(path, said="stays_stopped")
    except Refusal:
        return go(path, said="bad_until")
    except DatabaseError:
        raise
    except Trouble:
        return go(path, said="refused")
    return go(path, said=done)
