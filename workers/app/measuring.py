"""Who reads which gauges: in a worker's process, and where the relay runs."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import structlog

from domain.readings import ReadGauges, Reading
from gateways.clock import WallClock
from gateways.redis import RedisStream
from gateways.sink import EventSink
from persistence.store import Store
from workers.app.composition import App
from workers.app.probes import Check, first_trouble, free_descriptors, probe_routes, probed
from workers.app.telemetry.companies import CompanyRanking
from workers.app.telemetry.gauges import GaugeSource
from workers.app.telemetry.metering import Metering, bare_metering
from workers.app.telemetry.readings import DatabaseReadings, turn_readings
from workers.config.settings import Settings
from workers.payers.limits import LimitsByPayer
from workers.runtime.beside import beside
from workers.upkeep.kpis import kpi_readings
from workers.upkeep.standing import standing_gauges

log = structlog.get_logger(__name__)
SWITCHED_OFF = "OTEL_SDK_DISABLED is true: /metrics shows nothing of ours, and nothing is sent; unset it."
NOT_OFTEN, SELDOM, RANKED_EVERY = 4, 20, 240
"""How many refreshes pass between two looks at what is dear to read and changes slowly."""


def gauge_sources(app: App) -> Sequence[GaugeSource]:
    """All of a worker's; each reads metrics of the table under their names there."""
    names, seconds = app.metering.names, app.settings.metrics.refresh_seconds
    database = DatabaseReadings(app.store, app.clock, app.payer_limits, names)
    ranking = CompanyRanking(app.store, app.clock, names.companies, app.metering.metrics.counters)

    async def tenants() -> Sequence[Reading]:
        return turn_readings(app.mail.lanes.order, names)

    return (
        GaugeSource("open claims", database.open_claims),
        GaugeSource("ended claims", database.ended_claims, SELDOM * seconds),
        GaugeSource("incidents", database.incidents),
        GaugeSource("payers", database.payers),
        GaugeSource("mail", database.mail),
        GaugeSource("dead letters", database.letters),
        GaugeSource("outbox", database.outbox),
        GaugeSource("success rates", database.success_rates, NOT_OFTEN * seconds),
        GaugeSource("jitter", database.jitter, SELDOM * seconds),
        GaugeSource("company names", ranking.read, RANKED_EVERY * seconds),
        GaugeSource("tenants", tenants),
        GaugeSource("upkeep", database.upkeep, NOT_OFTEN * seconds),
        GaugeSource("standing", standing_gauges(app.store)),
        GaugeSource("kpis", lambda: kpi_readings(app.store, app.clock), NOT_OFTEN * seconds),
    )


def readiness(checks: Sequence[Check]) -> GaugeSource:
    """What /readyz says, as a gauge."""

    async def read() -> Sequence[Reading]:
        return [Reading("reenvio_ready", 0.0 if await first_trouble(checks) else 1.0)]

    return GaugeSource("readiness", read)


def redis_readings(stream: RedisStream) -> ReadGauges:
    """How full Redis is, and what it refused."""

    async def read() -> Sequence[Reading]:
        memory = await stream.memory()
        used = Reading("reenvio_redis_memory_used_bytes", memory.used)
        refused = Reading("reenvio_redis_rejected_connections_total", memory.rejected_connections)
        if memory.most is None:
            return [used, refused]
        return [used, refused, Reading("reenvio_redis_memory_max_bytes", memory.most)]

    return read


@asynccontextmanager
async def measured(app: App) -> AsyncIterator[None]:
    """A worker's gauges read, and its metrics pushed, beside a block; neither where metrics are off."""
    if not app.settings.metrics.enabled:
        yield
        return
    async with _shown(app.metering, gauge_sources(app), app.settings):
        yield


@asynccontextmanager
async def relay_measured(settings: Settings, store: Store, sink: EventSink) -> AsyncIterator[Metering]:
    """The metrics of a process that only relays, with its probes, beside a block."""
    metering = bare_metering(settings)
    database = DatabaseReadings(store, WallClock(), LimitsByPayer(), metering.names)
    sources = [GaugeSource("outbox", database.outbox), *relay_sources(sink)]
    metering.set_aside(0)
    app = probe_routes([], [free_descriptors, store.trouble], metering.metrics.exposition)
    async with _shown(metering, sources, settings), probed(settings.probes, app):
        yield metering


def relay_sources(sink: EventSink) -> Sequence[GaugeSource]:
    """What the process that runs the relay reads beside all others: how full Redis is."""
    return [GaugeSource("redis", redis_readings(sink))] if isinstance(sink, RedisStream) else []


@asynccontextmanager
async def _shown(
    metering: Metering, sources: Sequence[GaugeSource], settings: Settings
) -> AsyncIterator[None]:
    """Read gauges again and again and push beside a block; who reads when it ends is not waited for."""
    gauges = metering.metrics.gauges
    for source in sources:
        gauges.add(source)
    if settings.telemetry.sdk_disabled == "true":
        log.warning("telemetry_switched_off", advice=SWITCHED_OFF)
    async with beside(gauges.run(settings.metrics.refresh_seconds)), metering.pushed(settings):
        yield
