"""`reenvio api` without a worker: probed as a worker is, until a signal."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
from structlog.testing import capture_logs

from gateways.clock import WallClock
from gateways.zeebe.connection import Plaintext
from persistence.database.engine import open_database
from persistence.store import Store
from tests.support.payers_file import payers_file
from tests.support.waiting import eventually
from workers.api import serve_api_alone
from workers.app.cluster import Cluster
from workers.app.composition import claims_flowing
from workers.app.databases import migrate_database
from workers.config.intake import ApiSettings
from workers.config.settings import PayerFiles, ProbeSettings, Settings

PAYERS = '[payers.999999]\nendpoint = "https://payer.example"\nversion = "4.03.00"\n'


@asynccontextmanager
async def api_alone(home: Path, store: Store | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the probes, beside a served API that ends by a signal; its store may be another."""
    settings = Settings(
        home=home / "home",
        payers=PayerFiles(file=payers_file(home, PAYERS)),
        api=ApiSettings(port=0, tokens="t" * 32),  # type: ignore[arg-type]
        probes=ProbeSettings(port=0),
    )
    await migrate_database(settings)
    async with claims_flowing(settings, Cluster(Plaintext("localhost:1"), WallClock())) as app:
        with capture_logs() as logs:
            running = asyncio.create_task(serve_api_alone(replace(app, store=store or app.store)))
            await eventually(lambda: _port(logs, "api_started"))
            url = f"http://127.0.0.1:{await _port(logs, 'probes_started')}"
        async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
            yield client
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(20):
            await running


async def _port(logs: Sequence[Mapping[str, Any]], event: str) -> int | None:
    return next((entry["port"] for entry in logs if entry["event"] == event), None)


async def test_it_says_whether_it_lives_and_is_ready_and_what_it_counted(tmp_path: Path) -> None:
    async with api_alone(tmp_path) as probes:
        answers = [(await probes.get(path)).status_code for path in ("/livez", "/readyz", "/metrics")]
    assert answers == [200, 200, 200]


async def test_it_is_not_ready_without_its_database(tmp_path: Path) -> None:
    gone = Store(open_database("postgresql+asyncpg://nobody@127.0.0.1:1/none"))
    async with api_alone(tmp_path, gone) as probes:
        assert (await probes.get("/livez")).status_code == 200
        assert (await probes.get("/readyz")).status_code == 503
