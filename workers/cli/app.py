"""All commands, in the order `reenvio --help` shows them; each is imported when it is called."""

from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from workers.cli.output import tell

TARGETS = {
    "demo": "workers.cli.system:demo",
    "up": "workers.cli.system:up",
    "work": "workers.cli.system:work",
    "api": "workers.cli.api:api",
    "deploy": "workers.cli.system:deploy",
    "migrate": "workers.cli.system:migrate",
    "decide": "workers.cli.decide:decide_command",
    "claim": "workers.cli.claim:claim_app",
    "payer": "workers.cli.payer:payer_app",
    "dlq": "workers.cli.dlq:dlq_app",
    "kpi": "workers.cli.kpi:kpi",
    "report": "workers.cli.report:report",
    "audit": "workers.cli.audit:audit_app",
    "retention": "workers.cli.retention:retention_app",
    "keys": "workers.cli.keys:keys_app",
    "relay": "workers.cli.relay:relay",
    "events": "workers.cli.events:events_app",
    "policy": "workers.cli.policy:policy_app",
    "engine": "workers.cli.engine:engine_app",
    "simulate-payer": "workers.cli.simulate:simulate_payer",
}


class Commands(TyperGroup):
    """What `reenvio` can do; `reenvio decide` needs no database to start (Typer hides its click's types)."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The names, in the order of the table."""
        return list(TARGETS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import one command or sub-group."""
        target = TARGETS.get(cmd_name)
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


def build() -> typer.Typer:
    """The command tree."""
    app = typer.Typer(
        cls=Commands,
        help="Resends medical claims that a health insurer did not take, on Camunda 8.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    return app


def _tell_version(wanted: bool) -> None:
    if wanted:
        tell(version("reenvio"))
        raise typer.Exit


VersionOption = Annotated[
    bool, typer.Option("--version", help="Say which version this is.", callback=_tell_version, is_eager=True)
]


def _root(*, version: VersionOption = False) -> None:
    """Resends medical claims that a health insurer did not take, on Camunda 8."""
