"""`reenvio audit show | verify | anchor | begin | roles`: what was done, and whether it says so."""

import json
from pathlib import Path
from typing import Annotated

import typer

import persistence
from persistence.audit.anchors import Anchor, NoAuditKey
from persistence.audit.chain import AuditEvent
from persistence.audit.checkpoints import Checkpoint, NotACheckpoint, read_checkpoint
from persistence.audit.rejections import instance_chain
from persistence.repositories.noting import payer_chain
from persistence.store import Store, Transaction
from workers.app.beginnings import note_beginning, noted_beginning
from workers.claims.ordering import Subject, ordered
from workers.cli.claim_arguments import OptionalDecidedClaim
from workers.cli.database import with_store, with_trail
from workers.cli.operator import FOR_GOOD, ByOption, ReasonOption, YesOption, require_yes, signed
from workers.cli.output import tell
from workers.cli.private_output import OutputOption, write
from workers.config.settings import read_settings

FOUND = 1
ANCHOR_CHARACTERS = 10_000
"""More than any line of `audit anchor` has."""
ROLES = Path(persistence.__file__).with_name("roles.sql")
NOT_AGAIN = "today's would decide otherwise; their chain, order and limits hold, unless named above"
CLOSED_IN = "bear no seal of a key that is set (older, or of an older key); signed anchors prove them"
InstanceOption = Annotated[
    int | None, typer.Option("--instance", min=1, help="A process instance's key, as Operate shows it.")
]
PayerOption = Annotated[str | None, typer.Option("--payer", help="What people ordered for this payer.")]
AnchorOption = Annotated[
    Path | None, typer.Option("--anchor", help="Hold the trail against what `audit anchor` printed earlier.")
]


def show(
    claim: OptionalDecidedClaim = None, instance: InstanceOption = None, payer: PayerOption = None
) -> None:
    """A claim's audit events, in order; those of an instance whose input named no claim; a payer's orders."""
    chains = [claim and claim.value, instance and instance_chain(instance), payer and payer_chain(payer)]
    if len(named := [chain for chain in chains if chain]) != 1:
        raise typer.BadParameter("name a claim, a process instance by --instance, or a payer by --payer")
    chain = named[0]

    async def go(store: Store) -> None:
        async with store.reading() as tx:
            events = await tx.audit.of_claim(chain)
        if not events:
            tell(f"Nothing was decided about {chain} here.", err=True)
            raise typer.Exit(FOUND)
        for event in events:
            tell(_line(event))

    with_store(go)


def verify(anchor: AnchorOption = None) -> None:
    """Recompute every hash, seal, wait and decision; exit 1 when anything is not as it was."""
    kept, settings = read_checkpoint(_text_of(anchor)) if anchor else None, read_settings()

    async def go(store: Store) -> None:
        found = 0
        async with store.reading() as tx:
            noted = noted_beginning(settings)
            async for problem in tx.verification.problems(await tx.time(), kept, beginning=noted):
                tell(f"{problem.where}: {problem.what}")
                found += 1
            tally = tx.verification.tally
        seen = f"{tally.events} events, {tally.decisions} decisions, {tally.anchors} daily anchors"
        tell(f"{seen}: {f'{found} problems' if found else 'all as they were written'}.")
        if tally.begun and tally.begun.events:
            tell(_begins_with(tally.begun))
        if tally.closed_in:
            tell(f"{tally.closed_in} events {CLOSED_IN}.")
        if earlier := tally.not_decided_again:
            tell(f"{earlier} decisions were made by an earlier version of the rules: {NOT_AGAIN}.")
        raise typer.Exit(FOUND if found else 0)

    with_store(go, settings)


def begin(reason: ReasonOption = None, by: ByOption = None, yes: YesOption = False) -> None:
    """Sign the trail as it is, where its beginning was lost or a key is: what was wrong before is let be."""
    given, settings = signed(reason, by), read_settings()

    async def go(store: Store) -> None:
        require_yes(f"What `reenvio audit verify` finds today is signed as it is. {FOR_GOOD}", yes=yes)
        async with ordered(store, "audit begin", Subject(), given, await store.time()):
            begun = await store.run(_begun)
        note_beginning(settings, begun, anew=True)
        tell(_begins_with(begun))

    with_trail(go, settings)


async def _begun(tx: Transaction) -> Anchor:
    if not tx.anchors.can_sign:
        raise NoAuditKey
    return await tx.anchors.begin(await tx.time())


def _begins_with(begun: Anchor) -> str:
    when = begun.anchored_at.isoformat(timespec="seconds")
    return f"The trail begins on {when}: {begun.events} events before were signed as they were."


def anchor(output: OutputOption = None) -> None:
    """Print one signed line about the whole trail; keep it where nobody who can change the database can."""

    async def go(store: Store) -> None:
        made = await store.run(_checkpoint)
        write([made.text + "\n"], output)

    with_store(go)


async def _checkpoint(tx: Transaction) -> Checkpoint:
    return await tx.checkpoints.make(await tx.time())


def roles() -> None:
    """Print the SQL of the two PostgreSQL roles: workers that append, and retention that removes."""
    tell(ROLES.read_text(encoding="utf-8").rstrip())


def _text_of(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(ANCHOR_CHARACTERS + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise typer.BadParameter(f"{file} cannot be read ({why}).", param_hint="--anchor") from error
    if len(text) > ANCHOR_CHARACTERS:
        raise NotACheckpoint
    return text


def _line(event: AuditEvent) -> str:
    return f"{event.sequence:>4}  {event.at.isoformat(timespec='seconds')}  {event.event:16}  {_said(event)}"


def _said(event: AuditEvent) -> str:
    try:
        data = json.loads(event.data).items()
    except (ValueError, AttributeError, RecursionError):
        return "was changed and cannot be read: run `reenvio audit verify`"
    return ", ".join(f"{name}={_text(value)}" for name, value in data)


def _text(value: object) -> str:
    return "-" if value is None else json.dumps(value, ensure_ascii=False).strip('"')
