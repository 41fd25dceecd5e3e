"""`reenvio payer list | show`: what the database and PAYERS_FILE say of payers."""

from collections.abc import Callable, Sequence
from datetime import datetime

from domain.payer_status import PayerState
from persistence.store import Store
from workers.app.cluster import clock_here
from workers.cli.database import with_store
from workers.cli.output import tell
from workers.cli.payer_options import PayerArgument
from workers.cli.tables import print_table
from workers.config.settings import read_settings
from workers.payers.file import configured
from workers.payers.limits import limits_by_payer
from workers.payers.orders import UnknownPayer
from workers.payers.status import PayerView, moment, overview


def list_payers() -> None:
    """Every payer: state, why, next try, what is held and under way, pace, maintenance."""

    def show_all(views: Sequence[PayerView], now: datetime) -> None:
        if not views:
            tell("No payers yet: set PAYERS_FILE, or send a first claim.")
            return
        names = ("payer", "state", "why", "next try", "held", "under way", "pace", "maintenance")
        print_table(names, [_cells(view, now) for view in views])

    _look(show_all)


def show(payer: PayerArgument) -> None:
    """All that is known about one payer's breaker and pace."""

    def show_one(views: Sequence[PayerView], now: datetime) -> None:
        found = [view for view in views if view.status.payer_id == payer]
        if not found:
            raise UnknownPayer(payer)
        for name, value in _facts(found[0], now).items():
            tell(f"{name:22} {value}")

    _look(show_one)


def _look(show: Callable[[Sequence[PayerView], datetime], None]) -> None:
    """Show what the database and PAYERS_FILE say; no engine is needed."""
    settings = read_settings()
    limits = limits_by_payer(configured(settings.payers.file, settings.environment))

    async def go(store: Store) -> None:
        now = await clock_here(settings, store).now()
        show(await overview(store, limits, now), now)

    with_store(go, settings)


def probe_answer(view: PayerView) -> str:
    """What came of the last probe."""
    if view.status.probed_at is None:
        return "has no service to ask"
    return "answers" if view.status.probe_up else "does not answer"


def _cells(view: PayerView, now: datetime) -> tuple[str, ...]:
    status = view.status
    counts = str(view.waiting), f"{view.in_flight} of {view.limits.at_once}"
    head = status.payer_id, status.state, view.why, moment(status.next_try_at)
    return *head, *counts, view.pace, view.windows(now)


def _failures(view: PayerView) -> str:
    outages, unclear = view.limits.threshold, view.limits.unclear_threshold
    return f"{view.status.failures} (opens at {outages} with an outage, at {unclear} with an unclear answer)"


def _credentials(view: PayerView) -> str:
    if view.status.state is PayerState.STOPPED:
        return f"refused: {view.status.reason}"
    return "worked" if view.status.proven else "not proven since start or resume"


def _facts(view: PayerView, now: datetime) -> dict[str, object]:
    status, order = view.status, view.last_order
    return {
        "payer": status.payer_id,
        "state": f"{status.state} since {moment(status.changed_at)}",
        "why": view.why or "-",
        "last order": f"{moment(order.at)} {order}" if order else "-",
        "failures in a row": _failures(view),
        "openings in a row": status.openings,
        "next try": moment(status.next_try_at) or "-",
        "payer asked to wait to": moment(status.not_before) or "-",
        "credentials": _credentials(view),
        "claims held": view.waiting,
        "sends under way": f"{view.in_flight} of {view.limits.at_once}",
        "pace": view.pace,
        "next free slot": moment(status.next_slot_at) or "now",
        "slots given until": moment(status.slots_until) or "-",
        "last probe": f"{moment(status.probed_at)} {probe_answer(view)}"
        if status.probed_at
        else "not probed yet",
        "maintenance": view.windows(now) or "-",
    }


def _last_probe(view: PayerView) -> str:
    probed_at = view.status.probed_at
    return f"{moment(probed_at)} {probe_answer(view)}" if probed_at else "not probed yet"
