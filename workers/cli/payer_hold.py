"""`reenvio payer pause | trip`: hold a payer's claims, also while no engine runs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Annotated

import typer

from domain.intake import moment_ahead
from domain.ports import Clock
from domain.refusals import Refusal
from persistence.store import Store
from workers.app.cluster import clock_here
from workers.cli.database import with_trail
from workers.cli.operator import ByOption, ReasonOption, YesOption, require_yes, signed
from workers.cli.output import counted
from workers.cli.payer_options import PayerArgument, tell_done
from workers.config.settings import read_settings
from workers.payers.file import configured
from workers.payers.limits import LimitsByPayer, limits_by_payer
from workers.payers.status import moment
from workers.payers.waking import Waker
from workers.policy import PolicySource
from workers.upkeep.payer_steering import PayerSteering

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
        change = await _steering(app).pause(payer, given, until=end)
        tell_done(change, f"is paused {f'until {moment(end)}' if end else 'until you resume it'}")

    _at_desk(go)


def trip(
    payer: PayerArgument, reason: ReasonOption = None, by: ByOption = None, yes: YesOption = False
) -> None:
    """Open the breaker as an outage would; it tries again by itself."""
    given = signed(reason, by)

    async def go(app: PayerDesk) -> None:
        await _confirm(app, payer, yes=yes)
        change = await _steering(app).trip(payer, given)
        tell_done(change, f"is held; it is tried again at {moment(change.after.next_try_at)}")

    _at_desk(go)


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


def _steering(app: PayerDesk) -> PayerSteering:
    return PayerSteering(app.store, app.payer_limits, app.waker(), app.clock)


async def _confirm(app: PayerDesk, payer: str, *, yes: bool) -> None:
    """Ask only when claims wait: they would wait longer."""
    async with app.store.reading() as tx:
        waiting = await tx.payers.count_waiting(payer)
    if waiting:
        require_yes(f"{payer} has {counted(waiting, 'claim')} waiting, and will keep them waiting.", yes=yes)
