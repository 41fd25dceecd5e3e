"""`reenvio payer list | show | pause | resume | trip | probe`: see and steer what goes to whom."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Annotated

import structlog
import typer

from domain.intake import moment_ahead
from domain.operators import Attribution
from domain.payer_status import PayerState
from domain.ports import Clock
from domain.refusals import Refusal
from persistence.store import Store
from workers.app.cluster import clock_here
from workers.app.composition import App
from workers.cli.application import with_app, with_store, with_trail
from workers.cli.operator import ByOption, ReasonOption, Subject, YesOption, ordered, require_yes, signed
from workers.cli.output import counted, tell
from workers.cli.tables import print_table
from workers.config.settings import read_settings
from workers.payers.admission import PayerChange
from workers.payers.file import configured
from workers.payers.limits import LimitsByPayer, limits_by_payer
from workers.payers.orders import Orders, UnknownPayer
from workers.payers.status import PayerView, moment, overview
from workers.payers.waking import Waker
from workers.policy import PolicySource
from workers.upkeep.probing import Probing

payer_app = typer.Typer(
    help="See payers' health; hold their claims and let them go.", no_args_is_help=True, add_completion=False
)
log = structlog.get_logger(__name__)


CREDENTIALS_TRIED = (
    "is resumed: one claim tries the credentials now, the others follow once they have worked. "
    "Workers keep the password they were started with: after a change restart every worker, then resume"
)
PayerArgument = Annotated[str, typer.Argument(help="The payer's id, as in its settings.", metavar="PAYER")]
UntilOption = Annotated[
    str | None, typer.Option(help="End by itself then: ISO 8601, or a duration such as 4h.", metavar="TIME")
]


@dataclass(frozen=True, slots=True)
class PayerDesk:
    """What an order that holds a payer needs: the database and the time."""

    store: Store
    clock: Clock
    policy: PolicySource
    payer_limits: LimitsByPayer

    def waker(self) -> Waker:
        """Wakes nobody: claims that are held come back by their timers."""
        return Waker(self.store, self.payer_limits)


@payer_app.command("list")
def list_payers() -> None:
    """Every payer: state, why, next try, what is held and under way, pace, maintenance."""

    def show_all(views: Sequence[PayerView], now: datetime) -> None:
        if not views:
            tell("No payers yet: set PAYERS_FILE, or send a first claim.")
            return
        names = ("payer", "state", "why", "next try", "held", "under way", "pace", "maintenance")
        print_table(names, [_cells(view, now) for view in views])

    _look(show_all)


@payer_app.command()
def show(payer: PayerArgument) -> None:
    """All that is known about one payer's breaker and pace."""

    def show_one(views: Sequence[PayerView], now: datetime) -> None:
        found = [view for view in views if view.status.payer_id == payer]
        if not found:
            raise UnknownPayer(payer)
        for name, value in _facts(found[0], now).items():
            tell(f"{name:22} {value}")

    _look(show_one)


@payer_app.command()
def pause(
    payer: PayerArgument,
    reason: ReasonOption = None,
    until: UntilOption = None,
    by: ByOption = None,
    yes: YesOption = False,
) -> None:
    """Hold all claims of a payer, until a moment or until `resume`; no attempt is spent meanwhile."""
    given = signed(reason, by)

    async def go(app: PayerDesk) -> None:
        now = await app.clock.now()
        end = _end(until, now, app.policy.current().zone) if until else None
        await _confirm(app, payer, yes=yes)
        async with ordered(app.store, "pause", Subject(payer_id=payer), given, now):
            change = await _orders(app).pause(payer, now, reason=given.reason, until=end)
        _done(change, given, f"is paused {f'until {moment(end)}' if end else 'until you resume it'}")

    _at_desk(go)


@payer_app.command()
def resume(payer: PayerArgument, reason: ReasonOption = None, by: ByOption = None) -> None:
    """Let claims go again: one tries the credentials first, then those that waited, by deadline."""
    given = signed(reason, by)

    async def go(app: App) -> None:
        now, proves = await app.clock.now(), app.payer_limits.of(payer).needs_proof
        async with ordered(app.store, "resume", Subject(payer_id=payer), given, now):
            change = await _orders(app).resume(payer, now)
        _done(change, given, _resumed(change, proves=proves))
        if stuck := await app.store.look(lambda tx: tx.incidents.count(payer)):
            claims = "1 claim stands on an incident" if stuck == 1 else f"{stuck} claims stand on incidents"
            tell(f"{claims}: `reenvio claim resolve --payer {payer}` lets them go on (--dry-run shows).")

    with_app(go, quiet=False)


@payer_app.command()
def trip(
    payer: PayerArgument, reason: ReasonOption = None, by: ByOption = None, yes: YesOption = False
) -> None:
    """Open the breaker as an outage would; it tries again by itself."""
    given = signed(reason, by)

    async def go(app: PayerDesk) -> None:
        now = await app.clock.now()
        await _confirm(app, payer, yes=yes)
        async with ordered(app.store, "trip", Subject(payer_id=payer), given, now):
            change = await _orders(app).trip(payer, now, reason=given.reason)
        _done(change, given, f"is held; it is tried again at {moment(change.after.next_try_at)}")

    _at_desk(go)


@payer_app.command()
def probe(
    payer: Annotated[str | None, typer.Argument(help="One payer; all when left out.")] = None,
    reason: ReasonOption = None,
    by: ByOption = None,
) -> None:
    """Do now what the maintenance process does every five minutes: look who is there, wake who is due."""
    given = signed(reason, by)

    async def go(app: App) -> None:
        now, probing = await app.clock.now(), Probing(app.store, app.payer_limits, app.waker())
        async with ordered(app.store, "probe", Subject(payer_id=payer or ""), given, now):
            if payer:
                await _orders(app).require(payer)
            woken = await (probing.one(payer, now) if payer else probing.all(now))
        for view in await overview(app.store, app.payer_limits, now):
            if payer in (None, view.status.payer_id):
                tell(f"{view.status.payer_id} {_answer(view)}; {view.status.state}.")
        tell(f"{counted(woken, 'claim')} woken.")

    with_app(go, quiet=False)


def _end(until: str, now: datetime, zone: tzinfo) -> datetime:
    try:
        return moment_ahead("moment", until, now, zone)
    except Refusal as refused:
        raise typer.BadParameter(str(refused), param_hint="--until") from refused


def _at_desk(go: Callable[[PayerDesk], Awaitable[None]]) -> None:
    """Hold a payer, also while no engine runs: nobody has to be woken for it."""
    settings = read_settings()
    limits = limits_by_payer(configured(settings.payers.file, settings.environment))
    policy = PolicySource(settings.policy_file)

    async def within(store: Store) -> None:
        await go(PayerDesk(store, clock_here(settings, store), policy, limits))

    with_trail(within, settings)


def _orders(app: App | PayerDesk) -> Orders:
    return Orders(app.store, app.payer_limits, app.waker())


def _look(show: Callable[[Sequence[PayerView], datetime], None]) -> None:
    """Show what the database and PAYERS_FILE say; no engine is needed."""
    settings = read_settings()
    limits = limits_by_payer(configured(settings.payers.file, settings.environment))

    async def go(store: Store) -> None:
        now = await clock_here(settings, store).now()
        show(await overview(store, limits, now), now)

    with_store(go, settings)


def _answer(view: PayerView) -> str:
    if view.status.probed_at is None:
        return "has no service to ask"
    return "answers" if view.status.probe_up else "does not answer"


async def _confirm(app: App | PayerDesk, payer: str, *, yes: bool) -> None:
    """Ask only when claims wait: they would wait longer."""
    async with app.store.reading() as tx:
        waiting = await tx.payers.count_waiting(payer)
    if waiting:
        require_yes(f"{payer} has {counted(waiting, 'claim')} waiting, and will keep them waiting.", yes=yes)


def _done(change: PayerChange, given: Attribution, what: str) -> None:
    after = change.after
    log.warning("payer_order", payer=after.payer_id, by=given.by, state=after.state, why=given.reason)
    tell(f"Payer {after.payer_id} {what}.")


def _resumed(change: PayerChange, *, proves: bool) -> str:
    if proves:
        return CREDENTIALS_TRIED
    return "takes claims again" if change.is_news else "was not held: it takes claims as before"


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
        "last probe": f"{moment(status.probed_at)} {_answer(view)}" if status.probed_at else "not probed yet",
        "maintenance": view.windows(now) or "-",
    }
