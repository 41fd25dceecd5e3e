"""`reenvio simulate-payer`: a payer for practice, over real HTTP or HTTPS."""

import asyncio
import signal
import ssl
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from domain.ports import Clock
from gateways.clock import WallClock
from gateways.engine_clock import EngineClock
from gateways.practice.simulator.ledger import Ledger
from gateways.practice.simulator.scenario import Scenario, ScenarioError, read_scenario
from gateways.practice.simulator.server import Listening, Simulator, simulated_payers
from workers.cli.output import say
from workers.config.settings import SettingsError

EXAMPLE = "docs/tiss.md shows one"


def simulate_payer(
    scenario: Annotated[
        Path | None, typer.Option(help=f"What the payers do, TOML or JSON; {EXAMPLE}.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 chooses a free one.", min=0)] = 8088,
    ledger: Annotated[Path | None, typer.Option(help="Keep what arrives in this JSON Lines file.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="Server certificate (PEM): HTTPS.")] = None,
    key: Annotated[Path | None, typer.Option(help="Its private key (PEM).")] = None,
    client_ca: Annotated[Path | None, typer.Option(help="Ask for client certificates of this CA.")] = None,
    clock_url: Annotated[
        str | None, typer.Option(help="Live by the clock of the engine with this management address.")
    ] = None,
) -> None:
    """A payer that takes claims, refuses them, fails and loses answers as its scenario says."""
    listening = Listening(host, port, _tls(certificate, key, client_ca))
    clock: Clock = EngineClock(clock_url) if clock_url else WallClock()
    asyncio.run(_serve(_scenario(scenario), clock, listening, _ledger(ledger)))


async def _serve(scenario: Scenario, clock: Clock, listening: Listening, ledger: Ledger) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        async with simulated_payers(scenario, clock, listening, ledger) as simulator:
            _announce(simulator, scenario)
            await stop.wait()
    except OSError as error:
        place = f"{listening.host}:{listening.port}"
        raise SettingsError(
            f"The simulator cannot listen at {place} ({error.strerror}): choose another --port or --host."
        ) from error


def _announce(simulator: Simulator, scenario: Scenario) -> None:
    console = Console()
    for payer in scenario.payers:
        say(
            console, f"payer {payer.registro_ans}, TISS {payer.version}: {simulator.url}/{payer.registro_ans}"
        )
    say(console, f"what arrived: {simulator.url}/_ledger (Ctrl-C stops)")


def _scenario(file: Path | None) -> Scenario:
    try:
        return read_scenario(file) if file else Scenario()
    except ScenarioError as error:
        raise SettingsError(str(error)) from error


def _ledger(file: Path | None) -> Ledger:
    try:
        return Ledger(file)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SettingsError(f"{file} is no ledger of ours: give --ledger a new file.") from error


def _tls(certificate: Path | None, key: Path | None, client_ca: Path | None) -> ssl.SSLContext | None:
    if certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
        if client_ca:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_OPTIONAL
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or "wrong content"
        raise SettingsError(
            f"The certificate files cannot be used ({why}): see --certificate, --key."
        ) from error
    return context
