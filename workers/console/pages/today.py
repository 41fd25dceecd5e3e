"""Today: what stands still, what happens by itself, how the payers are; then the indicators."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from starlette.responses import Response

from domain.access import Permission
from domain.bulk_orders import BulkState
from domain.claim_state import ClaimState
from domain.payer_status import PayerState
from persistence.repositories.claim_lists import ClaimFilter
from persistence.repositories.dead_letters import WantedLetters
from persistence.repositories.figures import PayerFigures
from persistence.repositories.kpi_snapshots import KpiSnapshot
from persistence.repositories.overview import StoppedGroup
from persistence.repositories.upkeep_runs import UpkeepTask
from persistence.store import Transaction
from workers.console.pages.claims import COUNTED_MOST
from workers.console.pages.payers import certificates_of
from workers.console.pages.visit import Visit, go, render, times_of
from workers.console.views.alerts import SeenAlerts, alert_rows
from workers.console.views.today import (
    OPEN_STATES,
    RISK,
    coming_view,
    moments,
    payer_rows,
    stopped_rows,
    tiles,
)

KPI_DAYS = timedelta(days=30)
UNAVAILABLE = (PayerState.OPEN, PayerState.HALF_OPEN, PayerState.PAUSED)


@dataclass(frozen=True, slots=True)
class Looked:
    """What the page is made of, of one moment."""

    stopped: tuple[StoppedGroup, ...]
    numbers: tuple[int, ...]
    states: dict[ClaimState, int]
    payers: tuple[PayerFigures, ...]
    held: dict[PayerState, int]
    alerts: SeenAlerts


async def today_page(visit: Visit) -> Response:
    """The whole page; who may see no work is led to their own."""
    since = (visit.now - KPI_DAYS).astimezone(visit.console.zone).date()
    counted: list[KpiSnapshot] = list(
        await visit.console.store.look(lambda tx: tx.kpi_snapshots.since(since))
    )
    shown = tiles(counted, times_of(visit))
    return render(visit, "today.html", **await _live(visit), tiles=shown)


async def today_part(visit: Visit) -> Response:
    """What changes from minute to minute, for the page that renews itself."""
    return render(visit, "today_live.html", **await _live(visit))


async def home(visit: Visit) -> Response:
    """Where people begin: with their work, or at their own page."""
    if visit.may(Permission.SEE_WORK):
        return await today_page(visit)
    return go("/audit" if visit.may(Permission.SEE_AUDIT) else "/account")


async def _live(visit: Visit) -> dict[str, object]:
    looked = await visit.console.store.look(lambda tx: _look(tx, visit))
    times, limits = times_of(visit), visit.console.limits
    ends = await asyncio.to_thread(certificates_of, limits, list(limits.settings))
    stopped = stopped_rows(looked.stopped, times)
    states = looked.states
    return {
        "alerts": alert_rows(replace(looked.alerts, certificates=ends), times),
        "stopped": stopped,
        "stopped_number": sum(row.number for row in stopped),
        "coming": coming_view(looked.numbers, times),
        "received": states[ClaimState.RECEIVED],
        "sending": states[ClaimState.SUBMITTING] + states[ClaimState.FAILED],
        "queued": looked.held.get(PayerState.CLOSED, 0),
        "held": sum(looked.held.get(state, 0) for state in UNAVAILABLE),
        "payers": payer_rows(looked.payers, limits, times),
        "seen_at": times.at(visit.now),
    }


async def _look(tx: Transaction, visit: Visit) -> Looked:
    incidents = await tx.overview.on_incidents()
    held = await tx.overview.held()
    stopped = [held[PayerState.STOPPED]] if PayerState.STOPPED in held else []
    groups = (*([incidents] if incidents else []), *stopped, *await tx.overview.in_review())
    numbers = tuple(await tx.overview.coming(moments(visit.now)))
    states = dict(await tx.overview.going(OPEN_STATES))
    waiting = {state: group.number for state, group in held.items()}
    payers = tuple(await tx.figures.payers(visit.now))
    return Looked(groups, numbers, states, payers, waiting, await _alerts(tx, visit.now))


async def _alerts(tx: Transaction, now: datetime) -> SeenAlerts:
    due, done = ClaimFilter(due_before=now + RISK), await tx.upkeep_runs.last()
    counted = (done.get(UpkeepTask.KPIS), await tx.kpi_snapshots.last_taken_at(now=now))
    return SeenAlerts(
        at_risk=await tx.claim_lists.count(due, COUNTED_MOST),
        letters=await tx.dead_letters.count(WantedLetters(on_its_way=False)),
        proposed=sum(one.state is BulkState.PROPOSED for one in await tx.bulk_orders.going_on()),
        certificates={},
        looked=done.get(UpkeepTask.STANDING),
        counted=max((moment for moment in counted if moment), default=None),
    )
