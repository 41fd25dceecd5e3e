"""Commands of the memory as a person runs them, against one database."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.support.command_line import environment
from tests.support.databases import KEYS

PROGRAM = """
import typer
from workers.cli.audit import audit_app
from workers.cli.claim import claim_app
from workers.cli.dlq import dlq_app
from workers.cli.errors import plain_errors
from workers.cli.kpi import kpi
from workers.cli.payer import payer_app
from workers.cli.relay import relay
from workers.cli.report import report
from workers.cli.retention import retention_app

app = typer.Typer(pretty_exceptions_enable=False)
app.add_typer(audit_app, name="audit")
app.add_typer(claim_app, name="claim")
app.add_typer(dlq_app, name="dlq")
app.add_typer(payer_app, name="payer")
app.add_typer(retention_app, name="retention")
app.command()(relay)
app.command()(kpi)
app.command()(report)
with plain_errors():
    app()
"""


class Terminal:
    """Runs `reenvio` commands against one database."""

    def __init__(self, url: str, home: Path) -> None:
        self._environment = dict(environment(home, DATABASE_URL=url, ENCRYPTION_KEYS=KEYS))

    async def run(self, *arguments: str, **given: str) -> tuple[int, str, str]:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            PROGRAM,
            *arguments,
            env=self._environment | given,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await child.communicate()
        assert b"Traceback" not in err
        return child.returncode or 0, out.decode(), err.decode()

    async def run_unread(self, *arguments: str) -> tuple[int, str]:
        """Run it for a reader that is gone already; its exit code and its complaints."""
        reading, writing = os.pipe()
        os.close(reading)
        program = (sys.executable, "-c", PROGRAM, *arguments)
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            *program, env=self._environment, stdout=writing, stderr=pipe
        )
        os.close(writing)
        _, err = await child.communicate()
        return child.returncode or 0, err.decode()


@pytest.fixture
def terminal(url: str, tmp_path: Path) -> Terminal:
    return Terminal(url, tmp_path)
