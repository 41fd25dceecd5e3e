"""`reenvio relay`: carries events from the outbox to Redis, or to a file where no Redis is set."""

from typing import Annotated

import structlog
import typer

from persistence.store import Store
from workers.app.composition import jitter, opened_sink, relay_to
from workers.app.serving import stop_on_signal
from workers.cli.application import with_store
from workers.cli.output import tell
from workers.config.settings import read_settings
from workers.upkeep.relay import Relay
from workers.upkeep.sinks import check_sink

log = structlog.get_logger(__name__)


def relay(
    once: Annotated[bool, typer.Option("--once", help="Carry what waits now, then end.")] = False,
    lag: Annotated[bool, typer.Option("--lag", help="Only say how much waits, and since when.")] = False,
) -> None:
    """Carry events to the message queue until SIGINT or SIGTERM."""
    settings = read_settings()

    async def go(store: Store) -> None:
        async with opened_sink(settings) as sink:
            if lag:
                await _say_lag(relay_to(sink, store))
                return
            carrier = relay_to(await check_sink(sink, settings.events), store)
            await (_carry_all(carrier) if once else _carry_on(carrier))

    with_store(go, settings)


async def _carry_all(carrier: Relay) -> None:
    total = 0
    while carried := await carrier.carry():
        total += carried
    tell(f"{total} events carried.")


async def _carry_on(carrier: Relay) -> None:
    with stop_on_signal() as stop:
        log.info("relay_started")
        await carrier.run(stop, jitter())
        log.info("relay_stopped")


async def _say_lag(carrier: Relay) -> None:
    behind = await carrier.lag()
    since = f", the oldest since {behind.oldest.isoformat(timespec='seconds')}" if behind.oldest else ""
    tell(f"{behind.waiting} events wait{since}.")
