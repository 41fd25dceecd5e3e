"""Who orders something, why, and whether it is meant: asked here, the same for every command."""

import getpass
import os
import socket
import sys
from typing import Annotated

import typer

from domain.legible import is_text
from domain.operators import Attribution, attribution
from workers.cli.output import tell
from workers.config.settings import read_settings

FOR_GOOD = "This cannot be undone."
ReasonOption = Annotated[str | None, typer.Option("--reason", help="Why; kept with who asks.")]
ByOption = Annotated[
    str | None, typer.Option("--by", help="Who asks, beside the user of this shell; or REENVIO_OPERATOR.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]


def signed(reason: str | None, by: str | None) -> Attribution:
    """Who and why, before anything is done: a reason that is missing is asked for, or an error."""
    why = reason or _asked_reason()
    given = attribution(_who(by or read_settings().operator), why)
    if not given.reason or not is_text(why):
        raise typer.BadParameter("say why, in some words", param_hint="--reason")
    return given


def require_reason(reason: str | None) -> None:
    """Refuse at once what lacks a reason where nobody can be asked for one later."""
    if not (reason or _is_terminal()):
        raise typer.BadParameter("this is kept with who asks and why: say why", param_hint="--reason")


def require_yes(what: str, *, yes: bool) -> None:
    """Show what will happen, and go on only if that is meant."""
    tell(what, err=True)
    _confirm(yes=yes)


def asked(what: str, reason: str | None, by: str | None, *, yes: bool) -> Attribution:
    """Show what will happen, then ask why, and go on only if that is meant; who and why."""
    tell(what, err=True)
    given = signed(reason, by)
    _confirm(yes=yes)
    return given


def _confirm(*, yes: bool) -> None:
    if yes:
        return
    if not _is_terminal():
        raise typer.BadParameter(
            "nobody can be asked here, so nothing was done: add --yes to do it", param_hint="--yes"
        )
    typer.confirm("Go on?", abort=True, err=True)


def _asked_reason() -> str:
    require_reason(None)
    return str(typer.prompt("Why", err=True))


def _who(given: str | None) -> str:
    """The user of this shell, whoever else is named: nobody signs for another unseen."""
    here = shell_user()
    return here if given in (None, "", here) else f"{given} ({here})"


def shell_user() -> str:
    """Whose shell this is, and where."""
    return f"{_user()} on {socket.gethostname()}"  # with an @ it would be an address, and removed


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as in many containers
        return f"uid {os.getuid()}"


def _is_terminal() -> bool:
    return sys.stdin.isatty()
