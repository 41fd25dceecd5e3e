"""`reenvio audit show | verify | export`: what was decided, whether it still says so, and a copy of it."""

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, TextIO

import typer

from gateways.clock import WallClock
from persistence.chain import AuditEvent
from persistence.store import Store
from workers.cli.database import ClaimArgument, with_store

FOUND = 1
audit_app = typer.Typer(help="Show, verify and export the audit trail.", no_args_is_help=True)


@audit_app.command()
def show(claim: ClaimArgument) -> None:
    """A claim's audit events, in order."""

    async def go(store: Store) -> None:
        async with store.reading() as tx:
            events = await tx.audit.of_claim(claim.value)
        if not events:
            typer.echo(f"Nothing was decided about {claim} here.", err=True)
            raise typer.Exit(FOUND)
        for event in events:
            typer.echo(_line(event))

    with_store(go)


@audit_app.command()
def verify() -> None:
    """Recompute every hash, every wait and every decision; exit 1 when anything is not as it was."""

    async def go(store: Store) -> None:
        found = 0
        async with store.reading() as tx:
            async for problem in tx.verification.problems(await WallClock().now()):
                typer.echo(f"{problem.where}: {problem.what}")
                found += 1
            tally = tx.verification.tally
        seen = f"{tally.events} events, {tally.decisions} decisions, {tally.anchors} daily anchors"
        typer.echo(f"{seen}: {f'{found} problems' if found else 'all as they were written'}.")
        raise typer.Exit(FOUND if found else 0)

    with_store(go)


@audit_app.command()
def export(
    claim: ClaimArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file instead of the terminal.")
    ] = None,
) -> None:
    """Everything kept about a claim, as JSON Lines: for a person's access request (LGPD art. 18)."""

    async def go(store: Store) -> None:
        with _opened(output) as out:
            number = 0
            async with store.reading() as tx:
                async for line in tx.export.lines(claim.value):
                    out.write(line + "\n")
                    number += 1
            out.flush()
        typer.echo(f"{number} records of {claim}.", err=True)

    with_store(go)


def _opened(output: Path | None) -> AbstractContextManager[TextIO]:
    if output is None:
        return nullcontext(sys.stdout)
    try:
        return output.open("w", encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(
            f"{output} cannot be written ({error.strerror}): name another file."
        ) from error


def _line(event: AuditEvent) -> str:
    data = ", ".join(f"{name}={_text(value)}" for name, value in json.loads(event.data).items())
    return f"{event.sequence:>4}  {event.at.isoformat(timespec='seconds')}  {event.event:16}  {data}"


def _text(value: object) -> str:
    return "-" if value is None else json.dumps(value, ensure_ascii=False).strip('"')
