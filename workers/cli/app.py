"""All commands, in the order `reenvio --help` shows them."""

import typer

from workers.cli.claim import claim_app
from workers.cli.decide import decide_command
from workers.cli.engine import engine_app
from workers.cli.policy import policy_app
from workers.cli.system import demo, deploy, migrate, up, work


def build() -> typer.Typer:
    """The command tree."""
    app = typer.Typer(
        help="Resends medical claims that a health insurer did not take, on Camunda 8.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.command()(demo)
    app.command()(up)
    app.command()(work)
    app.command()(deploy)
    app.command()(migrate)
    app.command("decide")(decide_command)
    app.add_typer(claim_app, name="claim")
    app.add_typer(policy_app, name="policy")
    app.add_typer(engine_app, name="engine")
    return app
