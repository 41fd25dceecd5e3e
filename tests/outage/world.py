"""The stage of the experiment: a real broker, a simulated payer that is out, a database, a worker."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from domain.payer_status import PayerLimits
from gateways.engine_clock import EngineClock
from gateways.practice.simulator.scenario import Http, Outage, PayerScenario, Scenario
from gateways.practice.simulator.server import Simulator, simulated_payers
from gateways.zeebe import engine
from persistence.database.engine import sqlite_url
from tests.outage.plan import Plan
from tests.support.tiss_samples import PAYER
from workers.app.cluster import embedded
from workers.app.composition import App, running
from workers.app.databases import migrate_database
from workers.config.settings import PayerFiles, Settings

HANDLERS = 64
NEVER = 10**9
NO_BREAKER = PayerLimits(
    per_minute=None, at_once=10_000, threshold=NEVER, unclear_threshold=NEVER, needs_proof=False
)


@dataclass(frozen=True, slots=True)
class World:
    """Everything that is open, and when the outage began."""

    app: App
    clock: EngineClock
    simulator: Simulator
    began: datetime


@asynccontextmanager
async def world(
    plan: Plan, home: Path, broker: engine.RunningEngine, *, breaker: bool
) -> AsyncIterator[World]:
    """Open it, with a worker that serves; the payer is out from now on."""
    clock = EngineClock(broker.management_url)
    async with simulated_payers(_scenario(plan), clock) as simulator:
        settings = _settings(plan, home, simulator.url)
        await migrate_database(settings)
        async with running(settings, embedded(broker)) as opened:
            app = opened if breaker else _without_breaker(opened)
            await app.deploy()
            async with _served(app):
                yield World(app, clock, simulator, await clock.now())


def _scenario(plan: Plan) -> Scenario:
    out = Outage(end=plan.outage, then=Http(status=503))
    payer = PayerScenario(registro_ans=PAYER, requests_per_minute=plan.per_minute, outages=(out,))
    return Scenario(payers=(payer,))


def _settings(plan: Plan, home: Path, url: str) -> Settings:
    payers = home / "payers.toml"
    payers.write_text(
        f"""
[payers.{PAYER}]
endpoint = "{url}/{PAYER}"
version = "4.03.00"
requests_per_minute = {plan.per_minute}
at_once = {HANDLERS}
"""
    )
    return Settings(home=home, database_url=sqlite_url(home / "outage.db"), payers=PayerFiles(file=payers))


def _without_breaker(app: App) -> App:
    """The plain rule: every claim calls the payer whenever its own timer ends."""
    limits = dataclasses.replace(app.payer_limits, limits={PAYER: NO_BREAKER})
    return dataclasses.replace(app, payer_limits=limits)


@asynccontextmanager
async def _served(app: App) -> AsyncIterator[None]:
    stop = asyncio.Event()
    working = asyncio.create_task(app.worker(name="outage").run(stop))
    try:
        yield
    finally:
        stop.set()
        await working
