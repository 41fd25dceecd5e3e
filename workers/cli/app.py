"""All commands, in the order `reenvio --help` shows them."""

from collections.abc import Mapping
from typing import ClassVar

import typer

from workers.cli.lazy import LazyGroup


class Commands(LazyGroup):
    """What `reenvio` can do."""

    targets: ClassVar[Mapping[str, str]] = {
        "demo": "workers.cli.system:demo",
        "up": "workers.cli.system:up",
        "work": "workers.cli.system:work",
        "api": "workers.cli.api:api",
        "deploy": "workers.cli.system:deploy",
        "migrate": "workers.cli.system:migrate",
        "decide": "workers.cli.decide:decide_command",
        "claim": "workers.cli.claim:claim_app",
        "payer": "workers.cli.payer:payer_app",
        "audit": "workers.cli.audit:audit_app",
        "retention": "workers.cli.retention:retention_app",
        "relay": "workers.cli.relay:relay",
        "policy": "workers.cli.policy:policy_app",
        "engine": "workers.cli.engine:engine_app",
        "simulate-payer": "workers.cli.simulate:simulate_payer",
    }


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


def _root() -> None:
    """Resends medical claims that a health insurer did not take, on Camunda 8."""
