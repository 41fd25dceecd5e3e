"""What payers and models wrote about a claim, for who says why; the look is on record before it is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from domain.claim import ClaimId
from domain.legible import legible
from domain.operators import Attribution
from persistence.encryption.cipher import Cipher
from persistence.repositories.free_texts import FreeText, TextSource
from persistence.store import Store
from workers.claims.ordering import Subject, ordered

WORDS = "words"


@dataclass(frozen=True, slots=True)
class ReadText:
    """What somebody wrote, and when."""

    at: datetime
    source: TextSource
    text: str


async def kept_words(store: Store, claim_id: ClaimId) -> Sequence[FreeText]:
    """The texts as they are kept, unopened."""
    return await store.look(lambda tx: tx.free_texts.of_claim(claim_id.value))


async def read_words(
    store: Store, cipher: Cipher, kept: Sequence[FreeText], looking: tuple[Attribution, datetime]
) -> Sequence[ReadText]:
    """The words of one claim's texts; that somebody looked, and why, is kept before they are handed out.

    What no key here opens was not looked at.
    """
    given, now = looking
    opened = [ReadText(one.noted_at, one.source, legible(one.opened(cipher))) for one in kept]
    async with ordered(store, WORDS, Subject(kept[0].claim_id), given, now):
        return opened
