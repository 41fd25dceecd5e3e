"""`reenvio console`: the console in a browser; `reenvio console person`: who may come in."""

import typer

from workers.cli.lazy import Entry, group_of

TABLE = {
    "person": Entry("workers.cli.console_person:person_app", "Who may come into the console."),
}
console_app = typer.Typer(
    cls=group_of(TABLE),
    help="Serve the console in a browser until SIGINT or SIGTERM; or say who may come in.",
    invoke_without_command=True,
    add_completion=False,
)


@console_app.callback()
def console(context: typer.Context) -> None:
    """Serve the console in a browser until SIGINT or SIGTERM; or say who may come in."""
    if context.invoked_subcommand is None:
        from workers.cli.console_serve import serve  # the engine's libraries: no other command needs them

        serve()
