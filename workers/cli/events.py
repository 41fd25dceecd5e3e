"""`reenvio events schema`: what is on the stream, type by type."""

from typing import Annotated

import typer

from gateways.event_schemas import ENVELOPE, event_types, schema, schema_text
from gateways.sink import SCHEMA_VERSION
from workers.cli.output import tell
from workers.cli.tables import print_table

events_app = typer.Typer(
    help="The events on the stream: their types and schemas.", no_args_is_help=True, add_completion=False
)


@events_app.callback()
def _events() -> None:
    """The events on the stream: their types and schemas."""


@events_app.command("schema")
def show_schema(
    type_: Annotated[
        str | None, typer.Argument(metavar="[TYPE]", help="One type, or `envelope`; none: list them.")
    ] = None,
) -> None:
    """Print the JSON Schema of one type of event, or list the types."""
    if type_ is None:
        names = (ENVELOPE, *event_types())
        print_table(
            ("type", "version", "says"), [(name, SCHEMA_VERSION, _description(name)) for name in names]
        )
        return
    try:
        tell(schema_text(type_).rstrip("\n"))
    except KeyError:
        known = ", ".join((ENVELOPE, *event_types()))
        raise typer.BadParameter(f"there is no such type; one of {known}", param_hint="TYPE") from None


def _description(name: str) -> str:
    return str(schema(name)["description"]).split(". ")[0].rstrip(".")
