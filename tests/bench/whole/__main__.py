"""`python -m tests.bench.whole`: claims a second from a folder of files to their protocols, side by side."""

import asyncio
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from rich.console import Console

from gateways.zeebe.engine import EngineError
from tests.bench.whole.before import unpack
from tests.bench.whole.contenders import Contender
from tests.bench.whole.grounds import Grounds
from tests.bench.whole.held import HeldClaim, held_claim
from tests.bench.whole.options import WholeOptions, read_options
from tests.bench.whole.plain_program import PlainProgram
from tests.bench.whole.profiling import profile_tables, spots
from tests.bench.whole.program import ProgramError
from tests.bench.whole.reenvio import Reenvio
from tests.bench.whole.report import as_json, held_table, ratios, ways_table
from tests.bench.whole.stage import stage
from tests.bench.whole.way import Entrant, Way
from tests.support.broker import StalledError

PAPER_WIDTH = 200
WARM_UP = 200
PLAIN = "plain"
LAST_TURN = (
    "Its claims are still in the engine, which would give them to whoever plays next: the run ends here."
)
FAILURES = (StalledError, ProgramError, TimeoutError)


@dataclass(frozen=True, slots=True)
class Bench:
    """A run: what is asked, who plays, where, and whom to tell."""

    options: WholeOptions
    ours: Reenvio
    grounds: Grounds
    console: Console
    ways: list[Way] = field(default_factory=list)
    held: list[HeldClaim] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    async def run(self) -> None:
        """A warm-up, all rounds, then what is measured once.

        A turn of ours that does not end is the last: the next would be given its claims by the engine.
        """
        await self._warm_up()
        for number, kind, entrant in turns(self.options):
            if not await self._round(number, kind, entrant) and entrant.contender != PLAIN:
                self.console.print(LAST_TURN)
                return
        for kind in self.options.databases:
            try:
                await self._once(kind)
            except FAILURES as error:
                self._failed(kind, error)

    def _failed(self, what: str, error: Exception) -> None:
        self.failures.append(what)
        self.console.print(f"{what} [red]failed[/]: {error}", soft_wrap=True)

    async def _once(self, kind: str) -> None:
        if self.options.profile:
            await self._profiled(kind, self.options.profile)
        if self.options.held:
            await self._held(kind, self.options.held)

    async def _warm_up(self) -> None:
        """Let the broker's Java compile what it needs; a plain program that stalls has done enough."""
        with suppress(*FAILURES):
            async with self.grounds.turn(Entrant(PLAIN), "sqlite") as turn:
                await turn.way(min(WARM_UP, self.options.claims), None)

    async def _round(self, number: int, kind: str, entrant: Entrant) -> bool:
        words = f"round {number + 1}  {entrant!s:26} {kind:11}"
        try:
            async with self.grounds.turn(entrant, kind) as turn:
                way = await turn.way(self.options.claims, self.options.pace)
        except FAILURES as error:
            self._failed(words, error)
            return False
        self.ways.append(way)
        self.console.print(words, _progress(way), soft_wrap=True)
        return True

    async def _profiled(self, kind: str, folder: Path) -> None:
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        file = folder / f"{kind}.prof"
        async with self.grounds.turn(Entrant(self.ours.name), kind) as turn:
            await turn.way(self.options.claims, None, file)
        for table in profile_tables(f"{kind}, {self.options.claims} claims", spots(file)):
            self.console.print(table)

    async def _held(self, kind: str, claims: int) -> None:
        async with self.grounds.turn(Entrant(self.ours.name), kind) as turn:
            self.held.append(await held_claim(turn, self.ours, claims))


def turns(options: WholeOptions) -> Iterator[tuple[int, str, Entrant]]:
    """Every entrant on every database in each round; every round begins with the next one."""
    entrants = options.entrants()
    for number in range(options.rounds):
        first = number % len(entrants)
        for kind in options.databases:
            for entrant in (*entrants[first:], *entrants[:first]):
                yield number, kind, entrant


def _progress(way: Way) -> str:
    rate, cost = f"{way.claims_per_second:6.1f} claims/s", f"{way.worker_ms:6.1f} ms of the worker's CPU each"
    delay = "" if way.p50_ms is None else f", p50 {way.p50_ms:.0f} ms"
    rounds = f", {way.sent_round:.2f} sent round" if way.sent_round else ""
    said = f"; said: {way.said}" if way.said else ""
    return f"{rate}, {cost}{delay}{rounds}{said}   load {psutil.getloadavg()[0]:.1f}"


async def bench(options: WholeOptions, console: Console) -> Bench:
    """Set the stage, and play."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reenvio-whole-")))
        ours = Reenvio(embedded=not options.cluster)
        players: dict[str, Contender] = {"reenvio": ours, PLAIN: PlainProgram()}
        if options.before:
            tree = folder / "before"
            console.print(f"before: {unpack(options.before, tree)}")
            players["before"] = Reenvio("before", tree, embedded=not options.cluster)
        here = await stack.enter_async_context(stage(folder, pinned=options.pin, at_once=options.at_once))
        played = Bench(options, ours, Grounds(here, players, stack, options.workers), console)
        await played.run()
        return played


def _tell(played: Bench) -> None:
    console, options = played.console, played.options
    for database in options.databases:
        if any(way.database == database for way in played.ways):
            console.print(ways_table(database, played.ways))
    for line in ratios(played.ways):
        console.print(line)
    if played.held:
        console.print(held_table(played.held))
    if options.json_file:
        options.json_file.write_text(as_json(options, played.ways, played.held), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when somebody's turn failed."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PAPER_WIDTH)
    try:
        played = asyncio.run(bench(read_options(arguments), console))
        _tell(played)
    except (EngineError, ProgramError) as error:
        console.print(f"[red]{error}[/]")
        return 1
    except KeyboardInterrupt:
        console.print("Stopped.")
        return 130
    return 1 if played.failures else 0


if __name__ == "__main__":
    sys.exit(main())
