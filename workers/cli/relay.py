"""`reenvio relay`: carries events from the outbox to Redis, or to a file where no Redis is set."""

from datetime import datetime, tzinfo
from typing import Annotated
from uuid import UUID

import structlog
import typer

from domain.durations import YEARS
from domain.errors import Trouble
from persistence.store import Store
from workers.app.composition import jitter, relay_to
from workers.app.event_sinks import opened_sink
from workers.app.measuring import relay_measured
from workers.app.serving import stop_on_signal
from workers.cli.database import with_store
from workers.cli.output import counted, tell
from workers.config.settings import read_settings
from workers.policy import PolicySource
from workers.upkeep.relay import Relay
from workers.upkeep.sinks import check_sink

log = structlog.get_logger(__name__)


class NothingToReplay(Trouble):
    """There is no such event any more."""


FromOption = Annotated[
    str | None,
    typer.Option("--from", help="Send again what was published since a moment, or from an event's id on."),
]


def relay(
    once: Annotated[bool, typer.Option("--once", help="Carry what waits now, then end.")] = False,
    lag: Annotated[bool, typer.Option("--lag", help="Only say how much waits, and since when.")] = False,
    start: FromOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --from: only count.")] = False,
) -> None:
    """Carry events to the message queue until SIGINT or SIGTERM; or send again what it has lost."""
    if dry_run and not start:
        raise typer.BadParameter(
            "this counts what --from would send again: add --from, or see --lag", param_hint="--dry-run"
        )
    settings = read_settings()
    place = _start(start, PolicySource(settings.policy_file).current().zone) if start else None

    async def go(store: Store) -> None:
        async with opened_sink(settings) as sink:
            if lag:
                await _say_lag(relay_to(sink, store))
                return
            if place is not None and dry_run:
                await _replay(None, store, place)
                return
            checked = await check_sink(sink, settings.events)
            if place is not None:
                await _replay(relay_to(checked, store), store, place)
            elif once:
                await _carry_all(relay_to(checked, store))
            else:
                async with relay_measured(settings, store, sink) as metering:
                    await _carry_on(relay_to(checked, store, metering.set_aside))

    with_store(go, settings)


def _start(text: str, zone: tzinfo) -> datetime | str:
    """An event's id, or a moment; without an offset in the policy's zone."""
    try:
        return str(UUID(text))
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        form = "a moment such as 2026-01-15T18:00:00-03:00, or an event's id"
        raise typer.BadParameter(form, param_hint="--from") from error
    if moment.year not in YEARS:
        raise typer.BadParameter(f"a moment of the years {YEARS[0]} to {YEARS[-1]}", param_hint="--from")
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


async def _replay(carrier: Relay | None, store: Store, start: datetime | str) -> None:
    """Send again from there on, with the same ids; without a carrier only count."""
    place = await store.look(lambda tx: tx.outbox.place_of(start))
    if place is None:
        raise NothingToReplay(
            "No event is kept from there on: published ones are removed after RETENTION_PUBLISHED_DAYS."
        )
    number, until = await store.look(lambda tx: tx.outbox.count_published(place))
    if carrier is None:
        tell(f"{counted(number, 'event')} would be sent again, with the ids they had.")
        return
    sent = 0
    async for batch in carrier.replay(place, until):
        sent += batch
        tell(f"{sent} of {number}", err=True)
    tell(f"{counted(sent, 'event')} sent again, with the ids they had.")


async def _carry_all(carrier: Relay) -> None:
    total = 0
    while carried := await carrier.carry():
        total += carried
    tell(f"{counted(total, 'event')} carried.")


async def _carry_on(carrier: Relay) -> None:
    with stop_on_signal() as stop:
        log.info("relay_started")
        await carrier.run(stop, jitter())
        log.info("relay_stopped")


async def _say_lag(carrier: Relay) -> None:
    behind = await carrier.lag()
    since = f", the oldest since {behind.oldest.isoformat(timespec='seconds')}" if behind.oldest else ""
    wait = "waits" if behind.waiting == 1 else "wait"
    tell(f"{counted(behind.waiting, 'event')} {wait}{since}.")
    if behind.set_aside:
        tell(
            f"{behind.set_aside} are set aside, because they cannot be read: see event_set_aside in the log."
        )
