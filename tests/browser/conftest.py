"""A real Chromium before the real console, served on this machine."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

from gateways.zeebe import engine
from persistence.database.engine import close_database, open_database
from persistence.store import Store
from tests.browser.morning import Morning, told
from tests.browser.visitor import ARGUMENTS, Visitors
from tests.support.broker import QUICK, any_ports
from tests.support.console_stage import ConsoleStage, console_stage
from tests.support.databases import SEALS, Postgres
from workers.app.http_server import Place, serving
from workers.config.settings import read_settings
from workers.console.routes import console_app

READY_SECONDS = 600.0


@pytest.fixture(scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """One browser for the whole run; the system's, for Playwright's own download needs another host."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no browser here: apt-get install chromium")
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield opened
        await opened.close()


@pytest.fixture(scope="module")
async def database_url(postgres: Postgres) -> AsyncIterator[str]:
    """A PostgreSQL database of the module's own."""
    name = f"reenvio_browser_{os.getpid()}"
    yield await postgres.create(name, postgres.template)
    await postgres.drop(name)


@pytest.fixture(scope="module")
async def console(database_url: str) -> AsyncIterator[ConsoleStage]:
    """The console without an engine, which shows what is on record."""
    database = open_database(database_url)
    yield console_stage(Store(database, SEALS))
    await close_database(database)


@pytest.fixture(scope="module")
async def morning(console: ConsoleStage) -> Morning:
    """A hospital's morning, and people to look at it."""
    return await told(console)


@pytest.fixture(scope="module")
async def visitors(chromium: Browser, console: ConsoleStage, morning: Morning) -> AsyncIterator[Visitors]:
    """Who looks at it."""
    async with serving(console_app(console.console), Place("127.0.0.1", 0, "CONSOLE_PORT")) as port:
        yield Visitors(chromium, f"http://127.0.0.1:{port}")


@pytest.fixture(scope="module")
def engine_config(tmp_path_factory: pytest.TempPathFactory) -> engine.EngineConfig:
    """An engine home of the module's own."""
    shared = read_settings().engine.config()
    home: Path = tmp_path_factory.mktemp("engine")
    return engine.EngineConfig(
        home=home, cache=shared.cache, settings=QUICK, ports=any_ports(), ready_seconds=READY_SECONDS
    )


@pytest.fixture(scope="module")
def broker(engine_config: engine.EngineConfig) -> Iterator[engine.RunningEngine]:
    """A real broker."""
    yield engine.start(engine_config, engine.SilentReporter())
    engine.stop(engine_config)
