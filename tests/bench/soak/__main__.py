"""Does a worker's memory level off? `python -m tests.bench.soak --minutes 60`

Decisions and empty jobs flow through one worker while faults strike; the worker is a process of its own, so
that nothing but it is measured. Exits with 1 when a job was lost or a decision doubled.
"""

import argparse
import asyncio
import math
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table
from sqlalchemy import distinct, func, select

from persistence.database.engine import close_database, open_database
from persistence.tables import retry_decisions
from tests.bench.durable import DATABASES
from tests.bench.soak.stage import EVERY_THIRD, SoakStage, soak_stage

MEGABYTE = 1024 * 1024
MINUTE = 60.0
PATIENCE_SECONDS = 180.0
COLUMNS = (
    *("minute", "jobs", "jobs/s", "faults", "resident MB", "native MB, used", "native MB, free"),
    *("objects", "tasks", "load"),
)


@dataclass(frozen=True, slots=True)
class MemoryLook:
    """The worker at one moment; native memory is None where nobody can tell."""

    minute: float
    jobs: int
    faults: int
    resident: float
    objects: int
    tasks: int
    used: float | None
    free: float | None
    load: float
    grown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SoakVerdict:
    """What must not be."""

    lost: int
    undecided: int
    doubled: int

    @property
    def is_well(self) -> bool:
        """Whether nothing of it is."""
        return (self.lost, self.undecided, self.doubled) == (0, 0, 0)


async def look(here: SoakStage, began: float) -> MemoryLook:
    """Resident memory first: the question itself collects garbage."""
    resident, found = here.worker.resident, await here.worker.look()
    heap = found["heap"] or {}
    return MemoryLook(
        minute=(time.monotonic() - began) / MINUTE,
        jobs=here.gateway.ledger.ended,
        faults=here.gateway.faults.injected.total(),
        resident=resident / MEGABYTE,
        objects=found["objects"],
        tasks=found["tasks"],
        used=(heap["used"] + heap["mapped"]) / MEGABYTE if heap else None,
        free=heap["free"] / MEGABYTE if heap else None,
        load=psutil.getloadavg()[0],
        grown=tuple(found["grown"]),
    )


async def watch(here: SoakStage, given: argparse.Namespace, console: Console) -> list[MemoryLook]:
    """A look every few minutes until the time is up."""
    await here.worker.look()  # it has started when it answers
    began, looks = time.monotonic(), [await look(here, time.monotonic())]
    for number in range(1, round(given.minutes / given.every) + 1):
        await asyncio.sleep(max(0.0, began + number * given.every * MINUTE - time.monotonic()))
        looks.append(await look(here, began))
        console.print("  ".join(row(looks, len(looks) - 1)), *looks[-1].grown, sep="\n    ")
    return looks


async def soaked(here: SoakStage, given: argparse.Namespace, console: Console) -> list[MemoryLook]:
    """Jobs and faults for so many minutes, then all that is open comes to its end."""
    ends_at, rng = time.monotonic() + given.minutes * MINUTE, random.Random(given.seed)
    async with asyncio.TaskGroup() as group:
        group.create_task(here.feed(ends_at, given.rate))
        if not given.calm:
            group.create_task(here.disturb(ends_at, rng))
        watching = group.create_task(watch(here, given, console))
    ledger, patience = here.gateway.ledger, time.monotonic() + PATIENCE_SECONDS
    while ledger.ended < ledger.created and time.monotonic() < patience:
        await asyncio.sleep(1)
    return watching.result()


async def judge(here: SoakStage, url: str) -> SoakVerdict:
    """Count what is on record against what was asked for."""
    created = here.gateway.ledger.created
    database = open_database(url)
    async with database.connect() as connection:
        counts = select(func.count(), func.count(distinct(retry_decisions.c.job_key)))
        rows, jobs = (await connection.execute(counts.select_from(retry_decisions))).one()
    await close_database(database)
    lost, asked = created - here.gateway.ledger.ended, -(-created // EVERY_THIRD)
    return SoakVerdict(lost, undecided=asked - jobs, doubled=rows - jobs)


def row(looks: list[MemoryLook], number: int) -> list[str]:
    """A line of the table."""
    now, before = looks[number], looks[max(0, number - 1)]
    rate = (now.jobs - before.jobs) / max(1.0, (now.minute - before.minute) * MINUTE)
    return [
        f"{now.minute:.0f}",
        f"{now.jobs:,}",
        f"{rate:.0f}",
        f"{now.faults:,}",
        f"{now.resident:.1f}",
        "-" if now.used is None else f"{now.used:.1f}",
        "-" if now.free is None else f"{now.free:.1f}",
        f"{now.objects:,}",
        f"{now.tasks}",
        f"{now.load:.1f}",
    ]


async def run(given: argparse.Namespace, console: Console) -> SoakVerdict:
    """The whole soak, with its table."""
    with tempfile.TemporaryDirectory(prefix="reenvio-soak-") as name:
        folder = Path(name)
        async with (
            DATABASES[given.database](folder) as url,
            soak_stage(folder, url, seed=given.seed, trace=given.trace) as here,
        ):
            looks = await soaked(here, given, console)
            verdict = await judge(here, url)
    table = Table(*COLUMNS, title=f"One worker, decisions on {given.database}", title_justify="left")
    for number in range(len(looks)):
        table.add_row(*row(looks, number))
    console.print(table)
    return verdict


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=5, help="minutes between two looks (5)")
    parser.add_argument("--rate", type=float, default=math.inf, help="new jobs a second at most")
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--calm", action="store_true", help="no faults")
    parser.add_argument("--trace", action="store_true", help="tell which lines hold more (slow)")
    parser.add_argument("--seed", type=int, default=1)
    console = Console(highlight=False, width=130)
    verdict = asyncio.run(run(parser.parse_args(), console))
    console.print(f"lost {verdict.lost}, undecided {verdict.undecided}, doubled {verdict.doubled}")
    return 0 if verdict.is_well else 1


if __name__ == "__main__":
    sys.exit(main())
