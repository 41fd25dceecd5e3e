"""A real Prometheus scrapes a running worker: a fault makes its alert fire, and mending it ends the alert."""

import asyncio
import json
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyzeebe import ZeebeClient

from bpmn.names import ProcessId
from domain.mail.mail import MailContent, outbox_id
from domain.payer_status import PayerState
from gateways.practice.mail_server import Mailbox, MailStep, Reply, mail_server
from gateways.zeebe import engine
from gateways.zeebe.refusals import CommandRefusedError
from persistence.database.engine import sqlite_url
from tests.alerts.server import PrometheusServer, prometheus_server
from tests.support.broker import any_ports
from tests.support.command_line import environment
from tests.support.waiting import eventually
from workers.app.cluster import embedded
from workers.app.composition import App, running
from workers.app.databases import migrate_database
from workers.config.settings import Settings
from workers.demo.mail import mail_environment
from workers.demo.worker_process import WorkerProcess
from workers.mail.queueing import MailRequest

LETTERS = 101
"""One more than the document allows."""
OUTAGES = 5
"""In a row, that open a breaker."""
PATIENCE_SECONDS = 240


@dataclass(frozen=True)
class Scene:
    """A broker, a worker in a process of its own, its mail server, and the Prometheus that watches it."""

    app: App
    worker: WorkerProcess
    mailbox: Mailbox
    prometheus: PrometheusServer
    home: Path
    settings: dict[str, str]

    async def order(self, *command: str) -> None:
        """A command of the runbook, as a person runs it."""
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "workers.cli", *command),
            env=environment(self.home, **self.settings),
            stdout=PIPE,
            stderr=STDOUT,
        )
        said, _ = await asyncio.wait_for(child.communicate(), PATIENCE_SECONDS)
        assert child.returncode == 0, said.decode()


@pytest.fixture
async def scene(
    own_broker: engine.RunningEngine, own_config: engine.EngineConfig, prometheus: str, tmp_path: Path
) -> AsyncIterator[Scene]:
    settings = Settings(home=tmp_path, database_url=sqlite_url(tmp_path / "test.db"))
    ports, mailbox = any_ports(), Mailbox()
    assert ports.grpc
    assert ports.rest
    await migrate_database(settings)
    async with mail_server(mailbox), running(settings, embedded(own_broker)) as app:
        await eventually(lambda: _is_deployed(app), PATIENCE_SECONDS)
        own = _settings(settings, own_config, mailbox.port, ports.grpc)
        worker = WorkerProcess(environment(tmp_path, **own), tmp_path / "worker.log")
        worker.start()
        watched = (ports.rest, ports.grpc)
        try:
            async with prometheus_server(prometheus, tmp_path / "prometheus", watched) as server:
                await server.sees("reenvio_ready == 1")
                yield Scene(app, worker, mailbox, server, tmp_path, own)
        finally:
            worker.stop()


def _settings(settings: Settings, config: engine.EngineConfig, mail: int, probes: int) -> dict[str, str]:
    down = {"do": "fail", "error": "HTTP 503 Service Unavailable", "code": "HTTP:503", "payer_down": True}
    script = settings.home / "script.json"
    claims = {f"CLM-down-{number}": [down, {"do": "accept"}] for number in range(OUTAGES)}
    script.write_text(json.dumps({"answers": claims}), encoding="utf-8")
    own = {
        "ENGINE_HOME": str(config.home),
        "DATABASE_URL": settings.database,
        "PAYER_SCRIPT": str(script),
        "HEALTH_PORT": str(probes),
        "METRICS_REFRESH_SECONDS": "1",
        "LOG_LEVEL": "warning",
    }
    return own | mail_environment(mail)


def refuses_all(_address: str, _attempt: int) -> MailStep:
    return Reply("554 5.7.1 not today")


async def queue(app: App, number: int, about: str) -> None:
    """Mails in one commit, each with a process of its own."""
    content = MailContent("OPERATIONS", "permanent-error", "pt", {"claimId": "CLM-1-1"})
    now = await app.clock.now()
    async with app.store.transaction() as tx:
        requests = [MailRequest(outbox_id(about, one), content) for one in range(number)]
        mails = [await app.mail.queue.add(tx, request, now) for request in requests]
    assert await app.mail.queue.start(mails, now) == number


@pytest.mark.timeout(1200)
async def test_a_fault_makes_its_alert_fire_and_mending_it_ends_the_alert(scene: Scene) -> None:
    await scene.prometheus.is_silent("ReenvioNoWorkerReady")
    await _every_rule_can_be_evaluated(scene)
    await _mail_server_that_refuses(scene)
    await _payer_that_is_down(scene)
    await _worker_that_is_gone(scene)


async def _every_rule_can_be_evaluated(scene: Scene) -> None:
    for group in (await scene.prometheus.ask("rules"))["groups"]:
        assert [one["lastError"] for one in group["rules"] if one.get("lastError")] == []


async def _mail_server_that_refuses(scene: Scene) -> None:
    """The runbook's first scenario, with its command."""
    scene.mailbox.script = refuses_all
    await queue(scene.app, LETTERS, "refused")
    for name in ("ReenvioDeadLetterShare", "ReenvioMailFailures", "ReenvioDeadLettersMany"):
        fired = await scene.prometheus.fires(name)
        assert "error" not in fired.annotations["description"]
    assert re.match(r"1\d\d mails", fired.annotations["description"])  # notices of them die too
    scene.mailbox.script = lambda _address, _attempt: None
    await scene.order(
        "dlq",
        "redrive",
        "--yes",
        "--reason",
        "the server takes mail again",
        "--per-minute",
        "6000",
        "--first",
        "200",
    )
    for name in ("ReenvioDeadLettersMany", "ReenvioDeadLetterShare", "ReenvioMailFailures"):
        await scene.prometheus.is_silent(name)


async def _payer_that_is_down(scene: Scene) -> None:
    """Five claims meet an outage, a sixth is held; when the payer is let go it proves that all is well."""
    client = ZeebeClient(scene.app.channel)
    for number in range(OUTAGES):
        await client.run_process(ProcessId.SUB_06, {"claimId": f"CLM-down-{number}", "payerId": "payer-1"})
    assert (await scene.prometheus.fires("ReenvioPayerHeld")).labels["payer"] == "other"
    await client.run_process(ProcessId.SUB_06, {"claimId": "CLM-held-1", "payerId": "payer-1"})
    await eventually(lambda: _is_held(scene.app), PATIENCE_SECONDS)
    await scene.order("payer", "resume", "payer-1", "--reason", "it is back")
    await scene.prometheus.is_silent("ReenvioPayerHeld")
    assert (await _payer_state(scene.app)) is PayerState.CLOSED


async def _worker_that_is_gone(scene: Scene) -> None:
    scene.worker.kill()
    await scene.prometheus.fires("ReenvioNoWorkerReady")
    scene.worker.start()
    await scene.prometheus.is_silent("ReenvioNoWorkerReady")


async def _is_deployed(app: App) -> bool:
    """A broker that has just begun, on a busy machine, may need a second try."""
    try:
        await app.deploy()
    except CommandRefusedError:
        return False
    return True


async def _is_held(app: App) -> bool:
    return await app.store.look(lambda tx: tx.payers.count_waiting("payer-1")) > 0


async def _payer_state(app: App) -> PayerState | None:
    status = await app.store.look(lambda tx: tx.payers.find("payer-1"))
    return status.state if status else None
