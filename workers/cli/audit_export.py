"""`reenvio audit export`: what is kept about a claim, for the person whom it is about."""

from typing import Annotated

import typer

from gateways.tiss.excerpt import Excerpt, WantedPerson, excerpt
from persistence.repositories.payloads import open_payload
from persistence.store import Store
from workers.app.ciphers import keys_as_given
from workers.cli.claim_arguments import DecidedClaimArgument
from workers.cli.database import with_store
from workers.cli.output import tell
from workers.cli.private_output import OutputOption, write
from workers.config.settings import read_settings

NOTHING_KEPT = 1


def export(
    claim: DecidedClaimArgument,
    output: OutputOption = None,
    card: Annotated[str | None, typer.Option(help="Only the person with this numeroCarteira.")] = None,
    guide: Annotated[str | None, typer.Option(help="Only the person whose guide has this number.")] = None,
    whole_batch: Annotated[bool, typer.Option("--whole-batch", help="All persons of the batch.")] = False,
) -> None:
    """What is kept about a claim, one person's guides in clear, as JSON Lines: for LGPD art. 18."""
    if sum((card is not None, guide is not None, whole_batch)) > 1:
        raise typer.BadParameter("name one person by --card or by --guide, or take the --whole-batch")
    settings = read_settings()
    cipher, wanted = keys_as_given(settings), WantedPerson(card, guide, whole_batch)

    async def go(store: Store) -> None:
        async with store.reading() as tx:
            sealed = await tx.payloads.find(claim.value)
            file = excerpt(open_payload(cipher, claim.value, sealed), wanted) if sealed else Excerpt("")
            found = [line async for line in tx.export.lines(claim.value, lambda _: file.text)]
        lines = [file.without_others(line) + "\n" for line in found]
        if not lines:
            tell(f"Nothing is kept about {claim} here: compare the id; nothing was written.", err=True)
            raise typer.Exit(NOTHING_KEPT)
        write(lines, output)
        tell(f"{len(lines)} records of {claim}.", err=True)

    with_store(go, settings)
