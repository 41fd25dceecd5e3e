"""`reenvio engine`: start, stop, status, logs and clock of the embedded broker."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from domain.durations import LONGEST_AHEAD, read_duration
from gateways.engine_clock import EngineClock
from gateways.zeebe import engine
from workers.cli.errors import plain_errors
from workers.cli.output import say
from workers.config.settings import read_engine_settings

engine_app = typer.Typer(help="The embedded Zeebe broker.", no_args_is_help=True, add_completion=False)
clock_app = typer.Typer(help="The embedded broker's clock.", invoke_without_command=True)
engine_app.add_typer(clock_app, name="clock")

_INTERRUPTED = 130


class RichReporter:
    """Shows a start in the terminal: a bar for the download, a countdown for the wait."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def info(self, message: str) -> None:
        say(self._console, message)

    @contextmanager
    def download(self, name: str, size: int) -> Iterator[Callable[[int], None]]:
        columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
        with Progress(*columns, console=self._console) as progress:
            task = progress.add_task(f"Downloading {name}", total=size)
            yield lambda arrived: progress.advance(task, arrived)

    @contextmanager
    def waiting(self, what: str, seconds: float) -> Iterator[Callable[[float], None]]:
        if not self._console.is_terminal:
            self.info(f"{what}, at most {seconds:.0f} s.")
        with self._console.status(f"{what}, {seconds:.0f} s left") as shown:
            yield lambda left: shown.update(f"{what}, {left:.0f} s left")


@engine_app.command()
def start() -> None:
    """Start the broker, or find it running; the first time it is downloaded (about 300 MB)."""
    console = Console()
    with plain_errors():
        running = engine.start(read_engine_settings().config(), RichReporter(console))
    say(console, f"Zeebe {running.version} is ready at {running.grpc_address} (process {running.pid}).")


@engine_app.command()
def stop() -> None:
    """Stop the broker; its data stays for the next start."""
    with plain_errors():
        stopped = engine.stop(read_engine_settings().config())
    say(Console(), "The engine is stopped." if stopped else "The engine was not running.")


@engine_app.command()
def status() -> None:
    """Say whether the broker runs and where it listens; exit code 3 when it does not."""
    with plain_errors():
        running = engine.status(read_engine_settings().config())
    if running is None:
        say(Console(), "The engine is not running: `reenvio engine start` starts it.")
        raise typer.Exit(3)
    word = "ready" if engine.is_ready(running) else "starting"
    say(Console(), f"Zeebe {running.version} is {word} (process {running.pid}).")
    say(Console(), f"gRPC {running.grpc_address}")
    say(Console(), f"REST {running.rest_url}")
    say(Console(), f"management {running.management_url}")


@engine_app.command()
def logs(
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, help="How many of the last lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
) -> None:
    """Show the end of the broker's log."""
    console = Console(soft_wrap=True)
    with plain_errors():
        config = read_engine_settings().config()
        news = engine.follow_log(config) if follow else ()
        for line in chain(engine.log_tail(config, lines), news):
            say(console, line)


@clock_app.callback()
def clock(context: typer.Context) -> None:
    """Show the clock when nothing else is asked."""
    if context.invoked_subcommand is None:
        show()


@clock_app.command()
def show() -> None:
    """Say what time the broker has, and how far it is ahead of the wall clock."""
    with plain_errors():
        say(Console(), asyncio.run(_describe(_clock())))


@clock_app.command()
def add(duration: Annotated[str, typer.Argument(help="How far: 90m, 4h, 1d12h or ISO 8601, PT4H.")]) -> None:
    """Move the broker's clock forward; timers that become due fire at once."""
    with plain_errors():
        say(Console(), asyncio.run(_advance(_clock(), parse_duration(duration))))


def parse_duration(text: str) -> timedelta:
    """Read 90m, 4h, 1d12h30m or ISO 8601 (PT4H)."""
    try:
        duration = read_duration(text)
    except (OverflowError, ValueError) as error:
        raise _too_long(text) from error
    if duration is None:
        raise engine.EngineError(f"{text!r} is not a duration: write it like 90m, 4h, 1d12h or PT4H.")
    if duration > LONGEST_AHEAD:
        raise _too_long(text)
    return duration


def _too_long(text: str) -> engine.EngineError:
    return engine.EngineError(f"{text[:40]!r} is too long: give at most {LONGEST_AHEAD.days} days.")


async def _describe(clock: EngineClock) -> str:
    now, offset = await clock.now(), await clock.offset()
    ahead = timedelta(seconds=round(offset.total_seconds()))
    words = f"{ahead} ahead of the wall clock" if ahead else "the same as the wall clock"
    return f"{now:%Y-%m-%d %H:%M:%S} UTC, {words}"


async def _advance(clock: EngineClock, by: timedelta) -> str:
    await clock.advance(by)
    return await _describe(clock)


def _clock() -> EngineClock:
    config = read_engine_settings().config()
    running = engine.status(config)
    if running is None:
        raise engine.EngineError("The engine is not running: `reenvio engine start` gives it a clock.")
    return EngineClock(running.management_url, remember=lambda offset: engine.remember_offset(config, offset))
