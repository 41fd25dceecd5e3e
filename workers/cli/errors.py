"""Turns the errors we foresee into one line for the user; no traceback reaches anybody."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from domain.errors import DomainError
from gateways.clock import EngineClockError
from gateways.zeebe.commands import CommandRefusedError
from gateways.zeebe.connection import ZeebeConnectionError
from gateways.zeebe.engine import EngineError
from persistence.database import DatabaseError
from workers.claims import ClaimRefusal
from workers.demo.director import DemoError
from workers.health import HealthPortError
from workers.settings import SettingsError

TROUBLE, BAD_SETTINGS, INTERRUPTED = 1, 2, 130
_TROUBLES = (
    ClaimRefusal,
    CommandRefusedError,
    DatabaseError,
    DemoError,
    DomainError,
    EngineClockError,
    EngineError,
    HealthPortError,
)


@contextmanager
def plain_errors() -> Iterator[None]:
    """What we foresee ends the program with one line of advice and an exit code."""
    try:
        yield
    except _TROUBLES as error:
        for line in getattr(error, "log_lines", ()):
            _complain(f"  | {line}")
        _complain(str(error))
        raise SystemExit(TROUBLE) from error
    except (SettingsError, ZeebeConnectionError) as error:
        _complain(str(error))
        raise SystemExit(BAD_SETTINGS) from error
    except KeyboardInterrupt as error:
        _complain("Interrupted.")
        raise SystemExit(INTERRUPTED) from error


def say(console: Console, message: str) -> None:
    """Print a line as it is: no markup, no colours, no wrapping."""
    console.print(message, markup=False, highlight=False, soft_wrap=True)


def _complain(message: str) -> None:
    say(Console(stderr=True), message)
