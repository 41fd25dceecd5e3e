"""Commands of the memory as a person runs them, against one database."""

import asyncio
import os
import tempfile
from pathlib import Path

import pytest

from tests.support.command_line import call, environment, run_reenvio
from tests.support.databases import KEYS


class Terminal:
    """Runs `reenvio` commands against one database."""

    def __init__(self, url: str, home: Path) -> None:
        self._environment = dict(environment(home, DATABASE_URL=url, ENCRYPTION_KEYS=KEYS))

    async def run(self, *arguments: str, **given: str) -> tuple[int, str, str]:
        done = await run_reenvio(self._environment | given, *arguments)
        return done.returncode, done.stdout, done.stderr

    async def run_unread(self, *arguments: str) -> tuple[int, str]:
        """Run it for a reader that is gone already; its exit code and its complaints."""
        reading, writing = os.pipe()
        os.close(reading)
        return await self._run_into(writing, *arguments)

    async def run_into(self, device: Path, *arguments: str) -> tuple[int, str]:
        """Run it with its output sent there; its exit code and its complaints."""
        return await self._run_into(os.open(device, os.O_WRONLY), *arguments)

    async def _run_into(self, writing: int, *arguments: str) -> tuple[int, str]:
        with tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as keys:
            streams = (keys.fileno(), writing, err.fileno())
            code = await asyncio.to_thread(call, self._environment, arguments, streams)
            os.close(writing)
            err.seek(0)
            return code, err.read().decode()


@pytest.fixture
def terminal(url: str, tmp_path: Path) -> Terminal:
    return Terminal(url, tmp_path)
