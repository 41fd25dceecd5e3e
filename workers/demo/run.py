"""Sets the stage for the demo, plays it and clears it away."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from domain.claim import ClaimId
from gateways.clock import EngineClock
from gateways.zeebe import engine
from persistence.database import sqlite_url
from workers.bootstrap import App, embedded, migrate_database, running
from workers.demo.director import Director, Stage
from workers.demo.people import People
from workers.demo.samples import Sample, samples, script
from workers.demo.screen import screen_for
from workers.demo.summary import summary, unmet
from workers.demo.worker_process import WorkerProcess
from workers.settings import Settings


async def run_demo(console: Console, broker: engine.RunningEngine, home: Path) -> int:
    """Play the demo on a running embedded engine; returns how many claims ended otherwise than expected."""
    clock = EngineClock(broker.management_url)
    start = await clock.now()
    cast = samples(start)
    script_file = home / "payer-script.json"
    script_file.write_text(script(cast, start).model_dump_json(indent=2), encoding="utf-8")
    settings = Settings(
        reenvio_home=home, database_url=sqlite_url(home / "demo.db"), payer_script=script_file
    )
    await migrate_database(settings)
    worker = WorkerProcess(_environment(settings), home / "worker.log")
    async with running(settings, embedded(broker)) as app:
        await app.deploy()
        await _register(app, cast)
        people = People(app.desk, {sample.claim_id: sample for sample in cast})
        stage = Stage(app.store, clock, worker, people, cast, start)
        worker.start()
        try:
            with screen_for(console) as screen:
                await Director(stage, screen.show, screen.announce).play()
        finally:
            worker.stop()
        return await _conclude(console, app, cast)


async def _register(app: App, cast: Sequence[Sample]) -> None:
    for sample in cast:
        await app.desk.start(ClaimId(sample.claim_id), sample.payer_id)


async def _conclude(console: Console, app: App, cast: Sequence[Sample]) -> int:
    async with app.store.transaction() as tx:
        claims = await tx.claims.all()
        sends = {claim.claim_id: await tx.attempts.count(claim.claim_id) for claim in claims}
    console.print(summary(cast, claims, sends))
    return unmet(cast, claims)


def _environment(settings: Settings) -> dict[str, str]:
    """What the worker process must see to work on the demo's engine and database."""
    return {
        "REENVIO_HOME": str(settings.reenvio_home),
        "ENGINE_HOME": str(settings.reenvio_home / "engine"),
        "DATABASE_URL": settings.database,
        "PAYER_SCRIPT": str(settings.payer_script),
        "LOG_FORMAT": "json",
        "ZEEBE_ADDRESS": "",
    }
