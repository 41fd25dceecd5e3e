"""What the command line of the whole way asks for."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.options import positive
from tests.bench.whole.rounds import Pace
from tests.bench.whole.stage import AT_ONCE
from tests.bench.whole.way import Entrant

CLAIMS, ROUNDS, PACED, PER_SECOND, HELD = 600, 5, 100, 5.0, 300
KINDS = ("sqlite", "postgresql")
CONTENDERS = ("reenvio", "plain")


@dataclass(frozen=True, slots=True)
class WholeOptions:
    """Who plays where, with how much, and where the figures go."""

    claims: int
    rounds: int
    databases: tuple[str, ...]
    contenders: tuple[str, ...]
    before: str | None
    stored: tuple[int, ...]
    waiting: tuple[int, ...]
    pace: Pace | None
    held: int | None
    profile: Path | None
    cluster: bool
    pin: bool
    at_once: int
    workers: int
    json_file: Path | None

    def entrants(self) -> Sequence[Entrant]:
        """Everybody on an empty database, then ours on fuller ones."""
        names = (*self.contenders, *(["before"] if self.before else []))
        ours = [name for name in names if name != "plain"]
        filled = [{"stored": size} for size in self.stored] + [{"waiting": size} for size in self.waiting]
        return [
            *(Entrant(name) for name in names),
            *(Entrant(name, **full) for full in filled for name in ours),
        ]


def read_options(arguments: Sequence[str] | None = None) -> WholeOptions:
    """Read the command line."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.held and given.cluster:
        parser.error("--held moves the engine's clock: it cannot go with --cluster")
    return WholeOptions(
        claims=given.claims,
        rounds=given.rounds,
        databases=tuple(given.databases),
        contenders=tuple(given.contenders),
        before=given.before,
        stored=tuple(given.stored),
        waiting=tuple(given.waiting),
        pace=Pace(given.latency, given.per_second) if given.latency else None,
        held=given.held,
        profile=given.profile,
        cluster=given.cluster,
        pin=given.pin,
        at_once=given.at_once,
        workers=given.workers,
        json_file=given.json,
    )


def pace(text: str) -> float:
    """So many a second: more than none."""
    if not 0 < (number := float(text)) < float("inf"):
        raise ValueError(text)
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.whole",
        description="Claims a second from a folder of files to their protocols, side by side.",
    )
    add = parser.add_argument
    add("--claims", type=positive, default=CLAIMS, help=f"claims of a round ({CLAIMS})")
    add("--rounds", type=positive, default=ROUNDS, help=f"rounds of all ({ROUNDS})")
    add("--databases", nargs="+", choices=KINDS, default=KINDS)
    add("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    add("--before", metavar="REV", help="this revision of ours too, as a contender of its own")
    _add_measurements(parser)
    add("--cluster", action="store_true", help="as a given cluster, with the wall's clock")
    add("--pin", action="store_true", help="the worker on one core, all others on another")
    add("--at-once", type=positive, default=AT_ONCE, help=f"places that the payer has ({AT_ONCE})")
    add("--workers", type=positive, default=1, help="workers side by side, for folders (1)")
    add("--json", type=Path, metavar="FILE", help="write every round's figures here")
    return parser


def _add_measurements(parser: argparse.ArgumentParser) -> None:
    add, files = parser.add_argument, f"p50 and p95 from file to protocol, of so many single files ({PACED})"
    add("--latency", type=positive, nargs="?", const=PACED, metavar="FILES", help=files)
    add("--per-second", type=pace, default=PER_SECOND, help=f"their pace ({PER_SECOND:.0f})")
    add("--stored", type=positive, nargs="+", default=(), help="ours also with so many claims stored")
    add("--waiting", type=positive, nargs="+", default=(), help="and with so many at another's breaker")
    held = f"what a held claim costs a day, measured with so many ({HELD}); moves the engine's clock, last"
    add("--held", type=positive, nargs="?", const=HELD, metavar="CLAIMS", help=held)
    add(
        "--profile", type=Path, metavar="FOLDER", help="one more round of ours, profiled, as tables and files"
    )
