"""Groups whose lists are made of a table: a command is imported when it is called, not when it is named."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from workers.app.garbage import never_searched


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command is, and what lists say of it: the first sentence of its own help."""

    target: str
    help: str


Table = Mapping[str, Entry]
"""Commands by their names, in the order in which lists show them."""


class LazyGroup(TyperGroup):
    """Lists, completion and suggestions are made of the table, and only what is called is imported.

    Typer hides its click's types.
    """

    table: ClassVar[Table] = {}

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {name: TyperCommand(name, help=entry.help) for name, entry in self.table.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command itself, which is called or completed."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, load(name, self.table[name].target) if name and listed else None, rest


def group_of(table: Table) -> type[LazyGroup]:
    """The class of the group with these commands."""
    return type("GroupOfTable", (LazyGroup,), {"table": table})


def lazy_app(help_: str, table: Table) -> typer.Typer:
    """A group of commands below `reenvio`."""
    app = typer.Typer(cls=group_of(table), help=help_, no_args_is_help=True, add_completion=False)
    app.callback()(_only_a_group)
    return app


def _only_a_group() -> None:
    """What Typer takes for the sign that this is a group, although no command is registered with it."""


def load(name: str, target: str) -> Any:
    """A click command from a Typer app or from a plain function."""
    module, attribute = target.split(":")
    found = getattr(_imported(module), attribute)
    if not isinstance(found, typer.Typer):
        single = typer.Typer(add_completion=False)
        single.command(name)(found)
        found = single
    command = get_command(found)
    command.name = name
    return command


def _imported(name: str) -> ModuleType:
    if name in sys.modules:
        return sys.modules[name]
    with never_searched():
        return import_module(name)
