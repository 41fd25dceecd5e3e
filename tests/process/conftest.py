"""A real broker with a movable clock, and claims that tests can watch."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateways.engine_clock import EngineClock
from gateways.zeebe import engine
from persistence.database.engine import sqlite_url
from tests.process.records import EXPORTER, Records
from tests.process.stage import Payers, Stage
from tests.support.broker import QUICK, any_ports
from tests.support.own_broker import own_broker
from workers.app.cluster import embedded
from workers.app.composition import running
from workers.app.databases import migrate_database
from workers.config.settings import Settings, read_settings

__all__ = ["own_broker"]

READY_SECONDS = 600.0
"""A busy machine is no fault of what is tested."""


@pytest.fixture(scope="session")
def broker_config(tmp_path_factory: pytest.TempPathFactory) -> engine.EngineConfig:
    """An engine home of this test run's own, with the shared cache of distributions.

    Its ports are fixed and not the preferred ones: a broker that restarts finds them free again.
    """
    shared = read_settings().engine.config()
    home = tmp_path_factory.mktemp("engine")
    return engine.EngineConfig(
        home=home,
        cache=shared.cache,
        settings=EXPORTER | QUICK,
        ports=any_ports(),
        ready_seconds=READY_SECONDS,
    )


@pytest.fixture(scope="session")
def broker(broker_config: engine.EngineConfig) -> Iterator[engine.RunningEngine]:
    """One real broker for the whole run."""
    yield engine.start(broker_config, engine.SilentReporter())
    engine.stop(broker_config)


@pytest.fixture
def own_config(broker_config: engine.EngineConfig, tmp_path: Path) -> engine.EngineConfig:
    """For a test that moves the clock by hours or crowds the broker: nobody else's claims feel it."""
    return replace(broker_config, home=tmp_path / "engine", ports=any_ports())


@pytest.fixture(scope="session")
async def stage(
    broker: engine.RunningEngine, broker_config: engine.EngineConfig, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """Database, channel and deployed models on the broker."""
    home: Path = tmp_path_factory.mktemp("stage")
    settings = Settings(home=home, database_url=sqlite_url(home / "test.db"))
    await migrate_database(settings)
    async with running(settings, embedded(broker)) as app:
        await app.deploy()
        clock, records = EngineClock(broker.management_url), Records(broker_config.log_file)
        yield Stage(app, clock, settings, Payers(), records)


@pytest.fixture
async def working(stage: Stage) -> AsyncIterator[Stage]:
    """The stage with a worker on it."""
    async with stage.worker():
        yield stage
