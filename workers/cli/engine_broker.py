"""`reenvio engine start | stop | status | logs`: the embedded broker."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from gateways.zeebe import engine
from workers.cli.errors import plain_errors
from workers.cli.output import say
from workers.config.settings import read_engine_settings


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


def start() -> None:
    """Start the broker, or find it running; the first time it is downloaded (about 300 MB)."""
    console = Console()
    with plain_errors():
        running = engine.start(read_engine_settings().config(), RichReporter(console))
    say(console, f"Zeebe {running.version} is ready at {running.grpc_address} (process {running.pid}).")


def stop() -> None:
    """Stop the broker; its data stays for the next start."""
    with plain_errors():
        stopped = engine.stop(read_engine_settings().config())
    say(Console(), "The engine is stopped." if stopped else "The engine was not running.")


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
