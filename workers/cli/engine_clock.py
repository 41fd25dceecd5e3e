"""`reenvio engine clock`: shows and moves the embedded broker's clock."""

import asyncio
from datetime import timedelta
from typing import Annotated

import typer
from rich.console import Console

from domain.durations import LONGEST_AHEAD, read_duration
from gateways.engine_clock import EngineClock
from gateways.zeebe import engine
from workers.cli.errors import plain_errors
from workers.cli.output import say
from workers.config.settings import read_engine_settings

clock_app = typer.Typer(
    help="The embedded broker's clock.", invoke_without_command=True, add_completion=False
)


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
