"""`python -m tests.outage` (`make outage`): the table of docs/outage.md, measured."""

import argparse
import asyncio
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from rich.console import Console

from gateways.zeebe import engine
from tests.outage.figures import Figures
from tests.outage.plan import Plan
from tests.outage.run import through_the_outage
from tests.outage.table import markdown, unmet
from tests.support.broker import any_ports
from workers.app.logs import configure_logs
from workers.config.settings import read_settings

PLAIN, BREAKER = "plain rule", "breaker"


def main() -> int:
    """The chosen ways through the outage; 1 when an aim of the breaker is not met."""
    given, console = _options(), Console(stderr=True)
    configure_logs("error", "console")
    plan = Plan(given.claims, timedelta(hours=given.hours), given.per_minute)
    results = {name: _way(plan, name, console) for name in (PLAIN, BREAKER) if given.only in (None, name)}
    print(markdown(plan, results))
    missed = unmet(results[BREAKER]) if BREAKER in results else []
    for aim in missed:
        console.print(f"[red]not met[/]: {aim}")
    return 1 if missed else 0


def _way(plan: Plan, name: str, console: Console) -> Figures:
    """One way, on a broker of its own."""
    with tempfile.TemporaryDirectory(prefix="reenvio-outage-") as folder:
        home, ports = Path(folder), any_ports()
        config = replace(read_settings().engine.config(), home=home / "engine", ports=ports)
        broker = engine.start(config, engine.SilentReporter())
        try:
            tell = lambda line: console.print(f"{name}: {line}", highlight=False)  # noqa: E731
            return asyncio.run(through_the_outage(plan, home, broker, breaker=name == BREAKER, tell=tell))
        finally:
            engine.stop(config)


def _options() -> argparse.Namespace:
    usual = Plan()
    parser = argparse.ArgumentParser(prog="python -m tests.outage", description=__doc__)
    parser.add_argument("--claims", type=int, default=usual.claims)
    parser.add_argument("--hours", type=float, default=usual.outage / timedelta(hours=1))
    parser.add_argument("--per-minute", type=int, default=usual.per_minute, help="what the payer takes")
    parser.add_argument("--only", choices=(PLAIN, BREAKER), help="one way instead of both")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
