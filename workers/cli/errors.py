"""Turns the errors we foresee into one line for the user; no traceback reaches anybody."""

import typer
from rich.console import Console

from domain.errors import DomainError
from gateways.clock import EngineClockError
from gateways.zeebe.commands import CommandRefusedError
from gateways.zeebe.connection import ZeebeConnectionError
from gateways.zeebe.engine import EngineError
from persistence.database import DatabaseError
from workers.claims import ClaimRefusal
from workers.demo.director import DemoError
from workers.settings import SettingsError

FORESEEN = (
    ClaimRefusal,
    CommandRefusedError,
    DatabaseError,
    DemoError,
    DomainError,
    EngineClockError,
    EngineError,
    SettingsError,
    ZeebeConnectionError,
)


def guarded(app: typer.Typer) -> int:
    """Run the command line; foreseen errors end in one line and exit code 1."""
    try:
        app(standalone_mode=True)
    except FORESEEN as error:
        Console(stderr=True, soft_wrap=True).print(f"[bold red]reenvio:[/] {error}", highlight=False)
        return 1
    return 0
