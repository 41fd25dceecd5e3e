"""Commands that are imported when they are called: `reenvio decide` needs no database to start."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup
from typer.main import get_command


class LazyGroup(TyperGroup):
    """A group whose commands are named as `module:attribute` (Typer hides the types of its own click)."""

    targets: ClassVar[Mapping[str, str]] = {}

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The names, in the order of the table."""
        return list(self.targets)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import one command or sub-group."""
        target = self.targets.get(cmd_name)
        return None if target is None else load(cmd_name, target)


def load(name: str, target: str) -> Any:
    """A click command from a Typer app or from a plain function."""
    module, attribute = target.split(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        single = typer.Typer(add_completion=False)
        single.command(name)(found)
        found = single
    command = get_command(found)
    command.name = name
    return command
