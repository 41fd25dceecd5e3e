"""`reenvio claim words`: what payers and models wrote about a claim, for those who mend it."""

import typer

from persistence.store import Store
from workers.app.ciphers import keys_as_given
from workers.claims.words import ReadText, kept_words, read_words
from workers.cli.claim_arguments import DecidedClaimArgument
from workers.cli.database import with_trail
from workers.cli.operator import ByOption, ReasonOption, signed
from workers.cli.output import tell
from workers.config.settings import read_settings

NONE_KEPT = 1


def words(claim: DecidedClaimArgument, reason: ReasonOption = None, by: ByOption = None) -> None:
    """Show the words of payers and models, which may name patients; that you read them, and why, is kept."""
    settings = read_settings()
    cipher, given = keys_as_given(settings), signed(reason, by)

    async def go(store: Store) -> None:
        kept = await kept_words(store, claim)
        if not kept:
            tell(f"No words of a payer or model are kept about {claim}.", err=True)
            raise typer.Exit(NONE_KEPT)
        for one in await read_words(store, cipher, kept, (given, await store.time())):
            tell(_line(one))

    with_trail(go, settings)


def _line(one: ReadText) -> str:
    return f"{one.at.isoformat(timespec='seconds')}  {one.source:5}  {one.text}"
