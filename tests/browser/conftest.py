"""A real Chromium before the real console, served on this machine."""

import itertools
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

from domain.access import Role
from persistence.database.engine import open_database, sqlite_url
from persistence.migrations import migrate
from persistence.store import Store
from tests.browser.visitor import ARGUMENTS, Visitors, login_of
from tests.support.builders import NOW
from tests.support.console_scene import ConsoleScene
from tests.support.console_stage import console_stage
from tests.support.databases import SEALS
from workers.app.http_server import Place, serving
from workers.console.routes import console_app
from workers.console.words import LANGUAGES


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


@pytest.fixture(scope="session")
async def visitors(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Visitors]:
    """A hospital's morning on the console, and people of every role to look at it."""
    file: Path = tmp_path_factory.mktemp("browser") / "test.db"
    database = open_database(sqlite_url(file))
    await migrate(database)
    store = Store(database, SEALS)
    stage = console_stage(store)
    await ConsoleScene(store, NOW).everything()
    for role, language in itertools.product(Role, LANGUAGES):
        await stage.person(login_of(role, language), {role}, language=language)
    async with serving(console_app(stage.console), Place("127.0.0.1", 0, "CONSOLE_PORT")) as port:
        yield Visitors(chromium, f"http://127.0.0.1:{port}")
    await database.dispose()
