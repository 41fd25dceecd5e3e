"""`reenvio engine start | stop | status | logs`: the embedded broker, and Operate beside it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from gateways.zeebe import engine
from gateways.zeebe.engine.logs import news_of, tail_of
from workers.cli.engine_parts import EnginePart, has_operate, log_of, start_engine, stop_engine
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


def start(
    operate: Annotated[
        bool | None,
        typer.Option(
            "--operate/--no-operate",
            help="With Camunda's Operate and Tasklist from now on (70 MB more), or no longer with them.",
        ),
    ] = None,
) -> None:
    """Start the broker, or find it running; the first time it is downloaded (about 300 MB)."""
    console = Console()
    with plain_errors():
        config = read_engine_settings().config()
        running = start_engine(config, RichReporter(console), operate=operate)
    say(console, f"Zeebe {running.version} is ready at {running.grpc_address} (process {running.pid}).")
    tell_operate(console, config, running)


def tell_operate(console: Console, config: engine.EngineConfig, running: engine.RunningEngine | None) -> bool:
    """Where Operate is and what is wrong with it, in a home that has it; whether all there should be is."""
    if not has_operate(config):
        return running is not None
    from gateways.zeebe.operate import operate_status

    operate = operate_status(config, running)
    for line in operate.lines:
        say(console, line)
    return operate.is_whole


def stop() -> None:
    """Stop the broker; its data stays for the next start."""
    with plain_errors():
        stopped = stop_engine(read_engine_settings().config())
    say(Console(), "The engine is stopped." if stopped else "The engine was not running.")


def status() -> None:
    """Say whether the broker runs and where it listens; exit code 3 when it or a part of it does not."""
    console = Console()
    with plain_errors():
        config = read_engine_settings().config()
        running = engine.status(config)
        for line in _where(running):
            say(console, line)
        is_whole = tell_operate(console, config, running)
    if not is_whole:
        raise typer.Exit(3)


def _where(running: engine.RunningEngine | None) -> tuple[str, ...]:
    if running is None:
        return ("The engine is not running: `reenvio engine start` starts it.",)
    word = "ready" if engine.is_ready(running) else "starting"
    return (
        f"Zeebe {running.version} is {word} (process {running.pid}).",
        f"gRPC {running.grpc_address}",
        f"REST {running.rest_url}",
        f"management {running.management_url}",
    )


def logs(
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, help="How many of the last lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    part: Annotated[
        EnginePart, typer.Option(help="Whose log; Operate and Tasklist write into the broker's.")
    ] = EnginePart.BROKER,
) -> None:
    """Show the end of the broker's log."""
    console = Console(soft_wrap=True)
    with plain_errors():
        log = log_of(read_engine_settings().config(), part)
        news = news_of(log) if follow else ()
        for line in chain(tail_of(log, lines), news):
            say(console, line)
