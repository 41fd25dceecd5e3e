"""`reenvio claim words`: what payers and models wrote about a claim, for those who mend it."""

import typer

from domain.claim import ClaimId
from domain.legible import legible
from persistence.repositories.free_texts import FreeText
from persistence.store import Store, Transaction
from workers.app.ciphers import keys_as_given
from workers.cli.claim_arguments import DecidedClaimArgument
from workers.cli.database import with_trail
from workers.cli.operator import shell_user
from workers.cli.output import counted, tell
from workers.config.settings import read_settings

WORDS_READ = "words_read"
NONE_KEPT = 1


def words(claim: DecidedClaimArgument) -> None:
    """Show the words of payers and models, which may name patients; that you read them is written down."""
    settings = read_settings()
    cipher = keys_as_given(settings)

    async def go(store: Store) -> None:
        async with store.reading() as tx:
            kept = await tx.free_texts.of_claim(claim.value)
        if not kept:
            tell(f"No words of a payer or model are kept about {claim}.", err=True)
            raise typer.Exit(NONE_KEPT)
        lines = [f"{_about(one)}  {legible(one.opened(cipher))}" for one in kept]
        await _note(store, claim, len(kept))
        for line in lines:
            tell(line)

    with_trail(go, settings)


async def _note(store: Store, claim: ClaimId, number: int) -> None:
    """Who reads is on record before anything is shown, by the database's clock as all that is noted."""
    line = f"{counted(number, 'text')} read by {shell_user()}"

    async def note(tx: Transaction) -> None:
        await tx.journal.write(claim.value, WORDS_READ, line, now=await tx.time())

    await store.run(note)


def _about(text: FreeText) -> str:
    return f"{text.noted_at.isoformat(timespec='seconds')}  {text.source:5}"
