"""Prepares the demo, plays it and says how it ended."""

import asyncio
import os
from collections.abc import Sequence

from rich.console import Console

from gateways.engine_clock import EngineClock
from gateways.practice.mail_server import Mailbox, mail_server
from gateways.practice.simulator.ledger import Ledger
from gateways.practice.simulator.server import simulated_payers
from gateways.zeebe import engine
from persistence.database.engine import sqlite_url
from workers.app.cluster import embedded
from workers.app.composition import App, running
from workers.app.databases import migrate_database
from workers.config.cluster import ClusterSettings
from workers.config.settings import Settings
from workers.console.serving import Served, offered_link, serving_console
from workers.demo.fast_forward import DemoParts, FastForward
from workers.demo.mail import mail_environment, mail_line, not_arrived, until_mail_is_out
from workers.demo.payers import payers_file, scenario
from workers.demo.people import People
from workers.demo.samples import Sample, samples
from workers.demo.screen import screen_for
from workers.demo.summary import ledger_line, summary, taken_twice, unmet
from workers.demo.worker_process import WorkerProcess

ELSEWHERE = {"PAYER_SCRIPT", "PRACTICE_PAYER", *(name.upper() for name in ClusterSettings.model_fields)}
"""Settings, as those of mail, that would lead the demo's worker to others' payers or to another engine."""


async def run_demo(console: Console, broker: engine.RunningEngine, settings: Settings) -> int:
    """Play the demo on a running embedded engine; returns how many things ended otherwise than expected."""
    clock, cast = EngineClock(broker.management_url), samples()
    async with simulated_payers(scenario(cast), clock) as simulator, mail_server(Mailbox()) as mailbox:
        settings = _with_payers(settings, payers_file(simulator.url, await clock.now()))
        await migrate_database(settings)
        async with running(settings, embedded(broker)) as app, serving_console(app) as served:
            await app.deploy()
            console.print(await _where(served), soft_wrap=True)
            environment = _environment(settings) | mail_environment(mailbox.port)
            worker = WorkerProcess(environment, settings.home / "worker.log")
            people = People(app.messages, app.intake, simulator.ledger, cast)
            parts = DemoParts(app.store, app.payer_limits, clock, worker, people, cast, await clock.now())
            worker.start()
            try:
                with screen_for(console) as screen:
                    await FastForward(parts, screen.show, screen.announce).run()
                await until_mail_is_out(app.store)
            finally:
                await asyncio.to_thread(worker.stop)  # meanwhile the payers go on answering it
            queued = await app.store.look(lambda tx: tx.mails.by_state())
            console.print(mail_line(queued, mailbox))
            return await _conclude(console, app, simulator.ledger, cast) + not_arrived(queued, mailbox)


async def _where(served: Served) -> str:
    """Where the day can be watched in a browser, for as long as it lasts."""
    link = await offered_link(served, "demo") or served.address
    return f"CONSOLE: watch it in a browser while it lasts, once within 15 minutes, by {link}"


def _with_payers(settings: Settings, payers: str) -> Settings:
    """The same settings, but with payers and a database of the demo's own."""
    file = settings.home / "payers.toml"
    file.write_text(payers, encoding="utf-8")
    files = settings.payers.model_copy(update={"file": file, "script": None, "practice": False})
    database = sqlite_url(settings.home / "demo.db")
    return settings.model_copy(update={"database_url": database, "payers": files})


async def _conclude(console: Console, app: App, ledger: Ledger, cast: Sequence[Sample]) -> int:
    async with app.store.reading() as tx:
        claims = await tx.claims.all()
        sends = {claim.claim_id: await tx.attempts.count(claim.claim_id) for claim in claims}
    console.print(summary(cast, claims, sends))
    console.print(ledger_line(ledger))
    return unmet(cast, claims) + taken_twice(ledger)


def _environment(settings: Settings) -> dict[str, str]:
    """What the worker process must see to work on the demo's engine, payers and database, and on no other."""
    outer = {
        name: value
        for name, value in os.environ.items()
        if name not in ELSEWHERE and not name.startswith("MAIL_")
    }
    return outer | {
        "REENVIO_HOME": str(settings.home),
        "ENGINE_HOME": str(settings.home / "engine"),
        "DATABASE_URL": settings.database,
        "PAYERS_FILE": str(settings.payers.file),
        "LOG_FORMAT": "json",
    }
