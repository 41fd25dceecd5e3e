"""The files of claims, encrypted; each is tied to its claim, so that rows cannot be exchanged."""

import asyncio
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.database.dialect import among, insert_into
from persistence.database.rows import row_of
from persistence.encryption.cipher import Cipher, CipherError
from persistence.encryption.keyed_hashes import key_name
from persistence.tables import claim_payloads as payloads

SEALING = "names of keys that seal"


@dataclass(frozen=True, slots=True)
class SealedFile:
    """A claim's file for storage, and the name of its key: another key under the same id has another name."""

    ciphertext: str
    key_name: str


def seal_payload(cipher: Cipher, claim_id: str, data: bytes) -> SealedFile:
    """A claim's file for storage."""
    sealed = cipher.encrypt_bytes(zlib.compress(data), context=payload_context(claim_id))
    return SealedFile(sealed, sealing_name(cipher, cipher.current))


def open_payload(cipher: Cipher, claim_id: str, stored: str) -> bytes:
    """A claim's file from storage; a CipherError when the key is missing or the row is another claim's."""
    try:
        return zlib.decompress(cipher.decrypt_bytes(stored, context=payload_context(claim_id)))
    except CipherError as error:
        raise CipherError(f"The file of {claim_id}: {error}", error.key_id) from error


def sealing_name(cipher: Cipher, key_id: str) -> str:
    """What is kept beside a file to know its key again."""
    return key_name(cipher, key_id, purpose=SEALING)


def payload_context(claim_id: str) -> str:
    """What ties a file to its claim."""
    return f"claim payload {claim_id}"


class Payloads:
    """One file per claim, as ciphertext."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, claim_id: str, file: SealedFile, *, now: datetime) -> None:
        """Keep a claim's file, in place of an earlier one."""
        values = {"ciphertext": file.ciphertext, "key_name": file.key_name, "stored_at": now}
        statement = insert_into(self._connection, payloads).values(values | {"claim_id": claim_id})
        await self._connection.execute(
            statement.on_conflict_do_update(index_elements=["claim_id"], set_=values)
        )

    async def put_new(self, files: Iterable[tuple[str, SealedFile, datetime]]) -> None:
        """Store the files of claims that have none."""
        rows = [row_of(file) | {"claim_id": claim_id, "stored_at": now} for claim_id, file, now in files]
        await self._connection.execute(insert(payloads), rows)

    async def find(self, claim_id: str) -> str | None:
        """The claim's file, or None."""
        query = select(payloads.c.ciphertext).where(payloads.c.claim_id == claim_id)
        return await self._connection.scalar(query)

    async def find_all(self, claim_ids: Collection[str]) -> Mapping[str, str]:
        """The files of those of the claims that have one."""
        query = select(payloads.c.claim_id, payloads.c.ciphertext)
        mine = among(self._connection, payloads.c.claim_id, claim_ids)
        return {row.claim_id: row.ciphertext for row in await self._connection.execute(query.where(mine))}

    async def opened(self, claim_id: str, cipher: Cipher) -> bytes | None:
        """The claim's file in clear, or None; a CipherError as `open_payload` raises it."""
        stored = await self.find(claim_id)
        return None if stored is None else await asyncio.to_thread(open_payload, cipher, claim_id, stored)
