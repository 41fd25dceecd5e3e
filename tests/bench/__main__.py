"""`python -m tests.bench`: workers side by side on one broker, as a table."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import psutil
from rich.console import Console

from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from gateways.zeebe.engine import EngineError, SilentReporter
from tests.bench.contender import ContenderError
from tests.bench.cores import OTHER_CORES, WORKER_CORES, pin
from tests.bench.figures import Sample, Summary, summarise
from tests.bench.load import Load
from tests.bench.measure import Track, measure, turns, warm_up_broker
from tests.bench.names import IN_WORDS, Name
from tests.bench.options import Options, read_options
from tests.bench.roster import Roster, roster
from tests.bench.table import aims_table, figures_table
from tests.support.broker import BenchBroker, StalledError, bench_broker
from workers.config.settings import read_settings

PAPER_WIDTH = 130


async def bench(options: Options, console: Console) -> None:
    """Measure, then print the table and the aims."""
    console.print("Starting a broker of the benchmark's own ...")
    async with (
        bench_broker(SilentReporter()) as broker,
        roster(options.only, broker.engine.grpc_address, read_settings().engine.config()) as everyone,
    ):
        cast = pinned(everyone, broker) if options.pin else everyone
        samples = await rounds(options, broker, cast, console)
    summaries = _summaries(samples)
    console.print(figures_table(options.only, summaries, everyone.missing))
    console.print(aims_table(summaries))
    _write(options, samples, everyone.missing)


def pinned(everyone: Roster, broker: BenchBroker) -> Roster:
    """Workers on one core; broker, load and databases on another."""
    for pid in (broker.engine.pid, os.getpid(), *everyone.servers):
        pin(pid, OTHER_CORES)
    tied = tuple(replace(contender, cores=WORKER_CORES) for contender in everyone.contenders)
    return replace(everyone, contenders=tied)


async def rounds(options: Options, broker: BenchBroker, everyone: Roster, console: Console) -> list[Sample]:
    """Every contender once a round; one that fails is told and left out of that round."""
    samples = []
    async with open_channel(Plaintext(broker.engine.grpc_address)) as channel:
        track = Track(broker, Load(channel), options.sizes)
        await warm_up_broker(track, channel)
        for number, contender in turns(everyone.contenders, options.rounds):
            words = f"round {number + 1}/{options.rounds}  {IN_WORDS[contender.name]:32}"
            try:
                sample = await measure(track, contender, number)
            except (StalledError, ContenderError, TimeoutError) as error:
                console.print(f"{words} [red]failed[/]: {error}")
                continue
            console.print(_progress(words, sample))
            samples.append(sample)
    return samples


def _progress(words: str, sample: Sample) -> str:
    return (
        f"{words}{sample.jobs_per_second:7.0f} jobs/s{sample.cpu_ms_per_job:7.2f} ms CPU per job"
        f" (broker{sample.broker_ms_per_job:5.2f})"
        f"   p50{sample.p50_ms:7.1f} ms   p99{sample.p99_ms:7.1f} ms   load {psutil.getloadavg()[0]:.1f}"
    )


def _summaries(samples: Sequence[Sample]) -> dict[Name, Summary]:
    found = (summarise(name, samples) for name in Name)
    return {summary.contender: summary for summary in found if summary}


def _write(options: Options, samples: Sequence[Sample], missing: Mapping[Name, str]) -> None:
    if options.json_file:
        everything = {
            "cores": psutil.cpu_count(),
            "pinned": options.pin,
            "sizes": asdict(options.sizes),
            "samples": [asdict(sample) for sample in samples],
            "missing": dict(missing),
        }
        options.json_file.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """The command."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PAPER_WIDTH)
    try:
        asyncio.run(bench(read_options(), console))
    except EngineError as error:
        console.print(f"[red]{error}[/]")
        return 1
    except KeyboardInterrupt:
        console.print("Stopped.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
