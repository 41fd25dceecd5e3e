"""`reenvio payer resume | probe`: let a payer's claims go, which the engine wakes."""

from typing import Annotated

import typer

from workers.app.composition import App
from workers.cli.application import with_app
from workers.cli.operator import ByOption, ReasonOption, signed
from workers.cli.output import counted, tell
from workers.cli.payer_options import PayerArgument, tell_done
from workers.cli.payer_show import probe_answer
from workers.payers.admission import PayerChange
from workers.payers.status import overview
from workers.upkeep.payer_steering import PayerSteering
from workers.upkeep.probing import Probing

CREDENTIALS_TRIED = (
    "is resumed: one claim tries the credentials now, the others follow once they have worked. "
    "Workers keep the password they were started with: after a change restart every worker, then resume"
)


def resume(payer: PayerArgument, reason: ReasonOption = None, by: ByOption = None) -> None:
    """Let claims go again: one tries the credentials first, then those that waited, by deadline."""
    given = signed(reason, by)

    async def go(app: App) -> None:
        change = await _steering(app).resume(payer, given)
        tell_done(change, _resumed(change, proves=app.payer_limits.of(payer).needs_proof))
        if stuck := await app.store.look(lambda tx: tx.incidents.count(payer)):
            claims = "1 claim stands on an incident" if stuck == 1 else f"{stuck} claims stand on incidents"
            tell(f"{claims}: `reenvio claim resolve --payer {payer}` lets them go on (--dry-run shows).")

    with_app(go, quiet=False)


def probe(
    payer: Annotated[str | None, typer.Argument(help="One payer; all when left out.")] = None,
    reason: ReasonOption = None,
    by: ByOption = None,
) -> None:
    """Do now what the maintenance process does every five minutes: look who is there, wake who is due."""
    given = signed(reason, by)

    async def go(app: App) -> None:
        now, probing = await app.clock.now(), Probing(app.store, app.payer_limits, app.waker())
        woken = await probing.as_ordered(payer, given, now)
        for view in await overview(app.store, app.payer_limits, now):
            if payer in (None, view.status.payer_id):
                tell(f"{view.status.payer_id} {probe_answer(view)}; {view.status.state}.")
        tell(f"{counted(woken, 'claim')} woken.")

    with_app(go, quiet=False)


def _steering(app: App) -> PayerSteering:
    return PayerSteering(app.store, app.payer_limits, app.waker(), app.clock)


def _resumed(change: PayerChange, *, proves: bool) -> str:
    if proves:
        return CREDENTIALS_TRIED
    return "takes claims again" if change.is_news else "was not held: it takes claims as before"
