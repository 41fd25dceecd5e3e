"""The description that is served is held against the running server, by hundreds of chance calls."""

import asyncio
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

from domain.access import Role
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.console_scene import ConsoleScene
from tests.support.intake_stage import intake_stage
from workers.api import api
from workers.app.http_server import Place, serving
from workers.config.intake import SystemToken

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
TOKEN = SystemToken("all", frozenset(Role) - {Role.AUDITOR}, "t" * 32)
NEED_AN_ENGINE = "retry-now|cancel"
OPTIONS = (
    *("--max-examples", "10", "--phases", "coverage,fuzzing", "--no-color"),
    *("--suppress-health-check", "all", "--generation-database", "none"),
    # what a file must hold, and which moments are still to come, no schema says
    *("--exclude-checks", "positive_data_acceptance", "--exclude-path-regex", NEED_AN_ENGINE),
)


async def test_every_answer_to_chance_calls_is_as_described(store: Store, tmp_path: Path) -> None:
    async with intake_stage(store, tmp_path) as stage:
        stage.clock.moment = NOW
        await ConsoleScene(store, NOW).everything()
        async with serving(api(stage.ground(TOKEN)), Place("127.0.0.1", 0, "API_PORT")) as port:
            program = Path(sys.executable).with_name("schemathesis")
            where = f"http://127.0.0.1:{port}/api/openapi.json"
            header = ("-H", f"Authorization: Bearer {TOKEN.token}")
            run = (program, "run", where, *header, *OPTIONS)
            child = await asyncio.create_subprocess_exec(*run, cwd=tmp_path, stdout=PIPE, stderr=STDOUT)
            said = (await child.communicate())[0].decode()
    assert child.returncode == 0, said
