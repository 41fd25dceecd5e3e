"""Hours in minutes: faults every few seconds, a steady flow of claims, figures at the end.

`python -m tests.chaos.soak --minutes 20`; exits with 1 when anything was lost, doubled or leaked.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.chaos.arena import Arena, arena
from tests.chaos.disturbances import break_streams, cut, restart
from tests.chaos.effects import Effects
from tests.chaos.handlers import TYPES, fate
from tests.chaos.mixture import MIXED

OPEN_JOBS = 300
BATCH = 50
MEGABYTE = 1024 * 1024
MINUTE = 60.0


@dataclass(slots=True)
class Soak:
    """One run: what it may use, and what it has seen."""

    here: Arena
    rng: random.Random
    ends_at: float
    resident: list[float] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.ends_at

    async def feed(self) -> None:
        """Keep some hundred claims open."""
        ledger = self.here.gateway.ledger
        while not self.over:
            if ledger.created - ledger.ended < OPEN_JOBS:
                self.here.create(range(ledger.created, ledger.created + BATCH))
            await asyncio.sleep(0.02)

    async def disturb(self) -> None:
        """Every few seconds other faults, and a blow to the connection or the gateway."""
        while not self.over:
            chosen = self.rng.sample(MIXED, self.rng.randint(0, len(MIXED)))
            self.here.gateway.faults.switch(*chosen)
            await self.rng.choice([restart, cut, break_streams, self._go_dead])(self.here)
            await asyncio.sleep(self.rng.uniform(1, 5))
        self.here.gateway.faults.switch()

    async def _go_dead(self, here: Arena) -> None:
        here.gateway.faults.note("half-open")
        here.cable.go_dead()
        await asyncio.sleep(self.rng.uniform(0.5, 5))
        here.cable.mend()

    async def watch(self) -> None:
        """A line a minute, and old stories forgotten."""
        while not self.over:
            self.look()
            await asyncio.sleep(min(MINUTE, max(0.0, self.ends_at - time.monotonic())))
        self.look()

    def look(self) -> None:
        """Sample the memory and say how far things are."""
        ledger = self.here.gateway.ledger
        self.here.gateway.store.forget_ended()
        self.resident.append(psutil.Process().memory_info().rss / MEGABYTE)
        left = max(0.0, self.ends_at - time.monotonic()) / MINUTE
        faults = self.here.gateway.faults.injected.total()
        print(f"{left:5.1f} min left: {ledger.ended} done, {faults} faults, {self.resident[-1]:.0f} MB")
        sys.stdout.flush()


async def soak(minutes: float, seed: int, effects: Effects) -> list[str]:
    """Run it; what went wrong, if anything."""
    begun = time.monotonic()
    async with arena(cabled=True, effects=effects, seed=seed) as here:
        run = Soak(here, random.Random(seed), begun + minutes * MINUTE)
        async with asyncio.TaskGroup() as group:
            for part in (run.feed(), run.disturb(), run.watch()):
                group.create_task(part)
        await here.ended(here.gateway.ledger.created)
        wrong = verdict(here)
        print_figures(run, time.monotonic() - begun)
    return wrong


def verdict(here: Arena) -> list[str]:
    """Everything that is not as it must be."""
    ledger = here.gateway.ledger
    fates = Counter(fate(number) for number in range(ledger.created))
    crowded = [type_ for type_, limit in TYPES.items() if here.handler.most_at_once[type_] > limit]
    checks = {
        f"jobs ended otherwise than they should: {ledger.ends - fates}": ledger.ends == fates,
        f"effects missing: {ledger.created - here.effects.keys}": here.effects.keys == ledger.created,
        f"effects doubled: {here.effects.doubled}": here.effects.doubled == 0,
        f"runs in contradiction: {ledger.runs.contradictions[:3]}": not ledger.runs.contradictions,
        f"limits broken: {crowded}": not crowded,
        f"secrets logged: {here.logs.leaks[:3]}": not here.logs.leaks,
    }
    return [what for what, holds in checks.items() if not holds]


def print_figures(run: Soak, seconds: float) -> None:
    """The figures of the whole run."""
    here, ledger = run.here, run.here.gateway.ledger
    print(
        f"\njobs done          {ledger.ended} in {seconds / MINUTE:.1f} min ({ledger.ended / seconds:.0f}/s)"
    )
    print(f"lost               {ledger.created - ledger.ended}")
    print(f"doubled effects    {here.effects.doubled}")
    print(f"redeliveries       {ledger.redeliveries} ({ledger.expiries} by locks that ended)")
    print(f"repeated runs      {here.effects.repeated_runs}")
    print(f"connections        {here.cable.connections}")
    print(f"resident MB        {run.resident[0]:.0f} at first, {run.resident[-1]:.0f} at last")
    print("faults injected")
    for name, count in sorted(here.gateway.faults.injected.items()):
        print(f"  {name:<32} {count}")


def main() -> int:
    """Read the command line, soak, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        effects = Effects(Path(folder) / "effects.db")
        wrong = asyncio.run(soak(given.minutes, given.seed, effects))
    print("\n" + ("\n".join(wrong) or "All is well."))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
