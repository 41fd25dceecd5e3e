"""All commands, in the order `reenvio --help` shows them; each is imported when it is called."""

from importlib.metadata import version
from typing import Annotated

import typer

from workers.cli.lazy import Entry, group_of
from workers.cli.output import tell

TABLE = {
    "demo": Entry(
        "workers.cli.system:demo",
        "Sample claims through four hours of a payer's bad day, in about a minute.",
    ),
    "up": Entry(
        "workers.cli.system:up",
        "Engine, database, models and workers in real time; Ctrl-C stops what this started.",
    ),
    "work": Entry(
        "workers.cli.system:work",
        "Serve jobs until SIGINT or SIGTERM; a second signal stops at once.",
    ),
    "api": Entry(
        "workers.cli.api:api",
        "Take claims in over HTTP (API_PORT, API_TOKENS) until SIGINT or SIGTERM.",
    ),
    "console": Entry(
        "workers.cli.console:console_app",
        "Serve the console in a browser until SIGINT or SIGTERM; or say who may come in.",
    ),
    "deploy": Entry("workers.cli.system:deploy", "Deploy our BPMN models; equal ones keep their version."),
    "migrate": Entry("workers.cli.migrate:migrate", "Bring the database to the newest schema."),
    "decide": Entry(
        "workers.cli.decide:decide_command",
        "Decide on one failed submission and explain it. Exit 0: retry; 3: BPMN error; 2: rejected input.",
    ),
    "claim": Entry("workers.cli.claim:claim_app", "Hand in, start, follow and steer claims."),
    "payer": Entry("workers.cli.payer:payer_app", "See payers' health; hold their claims and let them go."),
    "dlq": Entry(
        "workers.cli.dlq:dlq_app",
        "Dead letters (email:send:dlq), mail that died: see, send again, export or remove them.",
    ),
    "mail": Entry("workers.cli.mail:mail_app", "Mail (email:send): where companies stand in its turns."),
    "kpi": Entry(
        "workers.cli.kpi:kpi",
        "KPIs of RN-BIL-004 and RN-BIL-005 against their targets, counted from the database.",
    ),
    "report": Entry(
        "workers.cli.report:report",
        "Control reports of RN-BIL-004 7.2 and RN-BIL-005 7.2, as the daily process sends them by mail.",
    ),
    "audit": Entry("workers.cli.audit:audit_app", "Show, verify, anchor and export the audit trail."),
    "retention": Entry(
        "workers.cli.retention:retention_app",
        "Remove what is past its period; hold what must stay.",
    ),
    "keys": Entry("workers.cli.keys:keys_app", "List, add and rotate encryption keys."),
    "relay": Entry(
        "workers.cli.relay:relay",
        "Carry events to the message queue until SIGINT or SIGTERM; or send again what it has lost.",
    ),
    "events": Entry("workers.cli.events:events_app", "The events on the stream: their types and schemas."),
    "policy": Entry(
        "workers.cli.policy:policy_app",
        "Show, check, compare, draw, try and adopt retry policies.",
    ),
    "engine": Entry("workers.cli.engine:engine_app", "The embedded Zeebe broker."),
    "simulate-payer": Entry(
        "workers.cli.simulate:simulate_payer",
        "A payer that takes claims, refuses them, fails and loses answers as its scenario says.",
    ),
}


def build() -> typer.Typer:
    """The command tree."""
    app = typer.Typer(
        cls=group_of(TABLE),
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
