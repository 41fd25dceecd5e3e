"""Every test here that does not say otherwise runs on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator

import httpx
import pytest

from domain.access import Role
from persistence.store import Store
from tests.support.console_stage import ConsoleStage, console_stage


@pytest.fixture
async def stage(store: Store) -> ConsoleStage:
    """The console; a channel to the engine needs a loop that runs."""
    return console_stage(store)


@pytest.fixture
async def everyone(stage: ConsoleStage) -> AsyncIterator[httpx.AsyncClient]:
    """A browser of somebody who may all but audit."""
    async with stage.logged_in(*(set(Role) - {Role.AUDITOR})) as opened:
        yield opened


@pytest.fixture
async def auditor(stage: ConsoleStage) -> AsyncIterator[httpx.AsyncClient]:
    """A browser of somebody who audits."""
    async with stage.logged_in(Role.AUDITOR, login="olga") as opened:
        yield opened
