"""What payers and models wrote in their own words: encrypted, kept for a short time, read by few."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import func, insert, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.database.rows import row_of
from persistence.database.trouble import may_pass
from persistence.encryption.cipher import Cipher
from persistence.tables import claim_texts as texts


class TextSource(StrEnum):
    """Who wrote a text."""

    PAYER = "payer"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class FreeText:
    """A text as it is kept."""

    claim_id: str
    source: TextSource
    ciphertext: str
    noted_at: datetime

    def opened(self, cipher: Cipher) -> str:
        """Its words."""
        return cipher.decrypt(self.ciphertext, context=text_context(self.claim_id))


def sealed_text(cipher: Cipher, claim_id: str, source: TextSource, text: str, *, now: datetime) -> FreeText:
    """A text for storage, tied to its claim."""
    return FreeText(claim_id, source, cipher.encrypt(text, context=text_context(claim_id)), now)


class FreeTexts:
    """Texts by claim."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def keep(self, sealed: Iterable[FreeText]) -> None:
        """Keep texts."""
        if rows := [row_of(text) for text in sealed]:
            await self._connection.execute(insert(texts), rows)

    async def keep_if_taken(self, sealed: Sequence[FreeText]) -> bool:
        """Keep texts; where the database does not take them, the rest of the transaction stands all the same.

        A database in trouble is everybody's trouble, and raised.
        """
        try:
            async with self._connection.begin_nested():
                await self.keep(sealed)
        except DBAPIError as error:
            if may_pass(error):
                raise
            return False
        return True

    async def of_claim(self, claim_id: str) -> Sequence[FreeText]:
        """A claim's texts, oldest first."""
        columns = texts.c.claim_id, texts.c.source, texts.c.ciphertext, texts.c.noted_at
        query = select(*columns).where(texts.c.claim_id == claim_id).order_by(texts.c.text_id)
        rows = await self._connection.execute(query)
        return [FreeText(row[0], TextSource(row[1]), row[2], row[3]) for row in rows]

    async def count(self, claim_id: str) -> int:
        """How many texts are kept of a claim."""
        query = select(func.count()).select_from(texts).where(texts.c.claim_id == claim_id)
        return await self._connection.scalar(query) or 0


def text_context(claim_id: str) -> str:
    return f"claim text {claim_id}"
