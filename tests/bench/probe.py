"""What in the broker holds throughput back: `python -m tests.bench.probe`."""

import argparse
import asyncio
import re
import sys
from collections import Counter
from dataclasses import dataclass
from time import perf_counter

import grpc
from rich.console import Console
from rich.table import Table

from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from gateways.zeebe.engine import EngineError, SilentReporter
from tests.bench.load import Load
from tests.bench.loop import Limits, drain
from tests.support.broker import BenchBroker, bench_broker

JOBS = 1500
ROUNDS = 3
IN_FLIGHT = (1, 8, 16, 32, 64, 256)
BATCHES = (8, 32, 128, 256)
LIMIT = "zeebe_backpressure_requests_limit"
SHOWN = {
    "zeebe_stream_processor_processing_duration": "processing a command",
    "zeebe_stream_processor_latency": "command waits in the log",
    "zeebe_log_appender_append_latency": "append to the log",
    "zeebe_log_appender_commit_latency": "commit of an append",
    "zeebe_gateway_request_latency": "gateway's request",
}
_SERIES = re.compile(r"^(\w+?)_(sum|count)\{(.*?)\} (\S+)$")
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Drain:
    """One drained backlog: how fast, how the completions fared, what the broker spent."""

    jobs_per_second: float
    complete_p50_ms: float
    refused_polls: int
    limit: float
    broker_cpu_ms: float


async def probe(broker: BenchBroker, console: Console) -> None:
    """Warm the broker up, then vary one thing at a time."""
    async with open_channel(Plaintext(broker.engine.grpc_address)) as channel:
        bench = Bench(broker, channel)
        await bench.drained(Limits(), "warm")
        await bench.drained(Limits(), "warm")
        in_flight = {n: Limits(in_flight=n) for n in IN_FLIGHT}
        console.print(await bench.sweep("completions in flight", in_flight))
        batches = {n: Limits(batch=n, held=2 * n) for n in BATCHES}
        console.print(await bench.sweep("jobs asked for at once", batches))
        console.print(await bench.anatomy())


@dataclass(frozen=True, slots=True)
class Bench:
    """A broker, and a channel to work on it."""

    broker: BenchBroker
    channel: grpc.aio.Channel

    async def sweep(self, what: str, settings: dict[int, Limits]) -> Table:
        """Every setting in each round; medians are for the reader to see, so all rounds are shown."""
        results: dict[int, list[Drain]] = {value: [] for value in settings}
        for number in range(ROUNDS):
            for value, limits in settings.items():
                name = f"{what.replace(' ', '-')}-{value}-{number}"
                results[value].append(await self.drained(limits, name))
        return _sweep_table(what, results)

    async def drained(self, limits: Limits, name: str) -> Drain:
        """Drain one backlog under the limits."""
        await self._backlog(name)
        before, start = self.broker.cpu_seconds(), perf_counter()
        result = await drain(self.channel, name, JOBS, limits)
        seconds, spent = perf_counter() - start, self.broker.cpu_seconds() - before
        limit = _values(await self.broker.metrics(LIMIT), LIMIT)
        return Drain(JOBS / seconds, result.p50_ms, result.refused, limit, spent / JOBS * 1e3)

    async def anatomy(self) -> Table:
        """The broker's own timings during one drain."""
        await self._backlog("anatomy")
        before = _sums(await self.broker.metrics())
        start = perf_counter()
        await drain(self.channel, "anatomy", JOBS, Limits())
        seconds = perf_counter() - start
        spent = _sums(await self.broker.metrics())
        spent.subtract(before)
        return _anatomy_table(spent, seconds)

    async def _backlog(self, name: str) -> None:
        load = Load(self.channel)
        await load.deploy(name)
        await load.backlog(name, JOBS)


def _sweep_table(what: str, results: dict[int, list[Drain]]) -> Table:
    columns = ("jobs/s", "CompleteJob p50 ms", "polls refused", "broker's limit after", "broker CPU ms/job")
    table = Table(what, *columns, title=f"By {what} ({ROUNDS} rounds)", title_justify="left")
    for value, drains in results.items():
        figures = (
            [f"{one.jobs_per_second:.0f}" for one in drains],
            [f"{one.complete_p50_ms:.0f}" for one in drains],
            [f"{one.refused_polls}" for one in drains],
            [f"{one.limit:.0f}" for one in drains],
            [f"{one.broker_cpu_ms:.1f}" for one in drains],
        )
        table.add_row(str(value), *(" ".join(figure) for figure in figures))
    return table


def _anatomy_table(spent: Counter[tuple[str, str, str]], seconds: float) -> Table:
    title = f"The broker's own timings, {JOBS} jobs in {seconds:.1f} s"
    table = Table(
        "what", "of", "times per job", "mean ms", "share of the time", title=title, title_justify="left"
    )
    for (metric, kind, of), count in sorted(spent.items()):
        if kind == "count" and count >= 1 and metric in SHOWN:
            total = spent[metric, "sum", of]
            share = f"{total / seconds:.0%}" if "processing" in metric else "-"
            table.add_row(SHOWN[metric], of, f"{count / JOBS:.2f}", f"{total / count * 1e3:.2f}", share)
    return table


def _sums(metrics: str) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for line in metrics.splitlines():
        if match := _SERIES.match(line):
            name, kind, labels, value = match.groups()
            found[name, kind, _of(dict(_LABEL.findall(labels)))] += float(value)  # type: ignore[assignment]
    return found


def _of(labels: dict[str, str]) -> str:
    parts = (labels.get("requestType"), labels.get("valueType"), labels.get("intent"))
    return " ".join(part for part in parts if part)


def _values(metrics: str, name: str) -> float:
    return sum(float(line.rsplit(" ", 1)[1]) for line in metrics.splitlines() if line.startswith(name))


async def main(console: Console) -> None:
    """Start a broker and probe it."""
    async with bench_broker(SilentReporter()) as broker:
        await probe(broker, console)


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tests.bench.probe", description=__doc__).parse_args()
    try:
        asyncio.run(main(Console(highlight=False, width=130)))
    except EngineError as error:
        sys.exit(str(error))
