"""What the command line asks for."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.bench.measure import Sizes
from tests.bench.names import TELEMETRY, USUAL, Name

FULL = Sizes(warm_up=1500, jobs=2000, rate=40, paced=320)
QUICK = Sizes(warm_up=200, jobs=300, rate=40, paced=80)


@dataclass(frozen=True, slots=True)
class Options:
    """Who runs, how often, with how much work, where the samples go, and whether on cores of their own."""

    rounds: int
    sizes: Sizes
    only: tuple[Name, ...]
    json_file: Path | None
    pin: bool = False


def read_options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line."""
    given = _parser().parse_args(arguments)
    sizes = QUICK if given.quick else FULL
    if given.jobs:
        sizes = replace(sizes, jobs=given.jobs)
    rounds = given.rounds or (1 if given.quick else 5)
    chosen = TELEMETRY if given.telemetry else tuple(given.only or USUAL)
    return Options(rounds, sizes, chosen, given.json, given.pin)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Measures workers side by side on one embedded broker.",
    )
    parser.add_argument("--rounds", type=positive, help="rounds of all contenders, in rotated order (5)")
    parser.add_argument("--jobs", type=positive, help=f"jobs of a backlog ({FULL.jobs})")
    parser.add_argument("--only", type=Name, nargs="+", metavar="NAME", help=f"of: {', '.join(Name)}")
    parser.add_argument("--telemetry", action="store_true", help="what being watched costs, nothing else")
    parser.add_argument("--quick", action="store_true", help="one small round: does it run?")
    parser.add_argument("--pin", action="store_true", help="the worker on one core, all others on another")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample here")
    return parser


def positive(text: str) -> int:
    """A number of something, from one on."""
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number
