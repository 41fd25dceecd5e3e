"""A real Prometheus beside a test: it scrapes, evaluates our rules in fast motion, and says what fires."""

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.support.alert_rules import RULES, quickened
from tests.support.waiting import eventually

WINDOW, INTERVAL = "20s", "1s"
PATIENCE_SECONDS = 240.0


@dataclass(frozen=True, slots=True)
class FiringAlert:
    """An alert that fires, with what it says."""

    name: str
    labels: dict[str, str]
    annotations: dict[str, str]


@dataclass(frozen=True, slots=True)
class PrometheusServer:
    """A running Prometheus."""

    http: httpx.AsyncClient

    async def ask(self, path: str, **query: str) -> Any:
        """The data of one answer of its interface."""
        answer = await self.http.get(f"/api/v1/{path}", params=query)
        return answer.raise_for_status().json()["data"]

    async def firing(self) -> list[FiringAlert]:
        """What fires now."""
        found = (await self.ask("alerts"))["alerts"]
        return [
            FiringAlert(one["labels"]["alertname"], one["labels"], one["annotations"])
            for one in found
            if one["state"] == "firing"
        ]

    async def fires(self, name: str) -> FiringAlert:
        """Wait until an alert fires."""
        seen: list[FiringAlert] = []

        async def look() -> bool:
            seen[:] = [one for one in await self.firing() if one.name == name]
            return bool(seen)

        await eventually(look, PATIENCE_SECONDS)
        return seen[0]

    async def is_silent(self, name: str) -> None:
        """Wait until an alert does not fire, or no more."""

        async def look() -> bool:
            return name not in {one.name for one in await self.firing()}

        await eventually(look, PATIENCE_SECONDS)

    async def sees(self, query: str) -> None:
        """Wait until a query has a result."""

        async def look() -> bool:
            return bool((await self.ask("query", query=query))["result"])

        await eventually(look, PATIENCE_SECONDS)


@asynccontextmanager
async def prometheus_server(
    program: str, home: Path, ports: tuple[int, int]
) -> AsyncIterator[PrometheusServer]:
    """A Prometheus on the first port that scrapes a worker on the second."""
    own, worker = ports
    child = _started(program, _configured(home, worker), own)
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{own}", trust_env=False) as http:
            await eventually(lambda: _is_ready(http), PATIENCE_SECONDS)
            yield PrometheusServer(http)
    finally:
        child.terminate()
        child.wait(30)


def _started(program: str, config: Path, port: int) -> subprocess.Popen[bytes]:
    home = config.parent
    places = (f"--config.file={config}", f"--storage.tsdb.path={home / 'tsdb'}")
    with (home / "prometheus.log").open("wb") as log:
        command = [program, *places, f"--web.listen-address=127.0.0.1:{port}"]
        return subprocess.Popen(command, stdout=log, stderr=log)


async def _is_ready(http: httpx.AsyncClient) -> bool:
    try:
        return (await http.get("/-/ready")).status_code == 200
    except httpx.TransportError:
        return False


def _configured(home: Path, worker: int) -> Path:
    """The scrape job of docs/operator.md, and the rules with short windows."""
    home.mkdir(parents=True, exist_ok=True)
    rules = []
    for file in RULES:
        quick = quickened(yaml.safe_load(file.read_text(encoding="utf-8")), WINDOW, INTERVAL)
        rules.append(str(home / file.name))
        (home / file.name).write_text(yaml.safe_dump(quick), encoding="utf-8")
    scrape = {"job_name": "reenvio", "static_configs": [{"targets": [f"127.0.0.1:{worker}"]}]}
    every = {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL, "evaluation_interval": INTERVAL}
    config = home / "prometheus.yml"
    config.write_text(
        yaml.safe_dump({"global": every, "rule_files": rules, "scrape_configs": [scrape]}), encoding="utf-8"
    )
    return config
