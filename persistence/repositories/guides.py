"""The guides of claims as keyed hashes: which of our claims at a payer hold a guide, and can all tell?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Column, ColumnElement, and_, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.batches import GIVEN_UP
from persistence.encryption.cipher import Cipher
from persistence.encryption.keyed_hashes import key_name, keyed_hashes, under_every_key
from persistence.repositories.attempts import standing_arrival
from persistence.repositories.claims import Arrival
from persistence.tables import claim_guides as guides
from persistence.tables import claims
from persistence.tables.claims import GUIDES_NOT_KEPT

PURPOSE = "guide numbers of claims"


@dataclass(frozen=True, slots=True)
class KeptGuides:
    """A claim's guides for storage."""

    key_id: str
    hashes: frozenset[str]


@dataclass(frozen=True, slots=True)
class SoughtGuides:
    """A claim's guides, under every key there is; its payer may have several names.

    `configured` are the names of all payers there are: a claim under any other may be this payer's.
    """

    claim_id: str
    payer_ids: Sequence[str]
    hashes: Mapping[str, frozenset[str]]
    configured: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Holder:
    """A claim that holds a guide, and where it stands."""

    claim_id: str
    state: str


def kept_guides(cipher: Cipher, numbers: Iterable[str]) -> KeptGuides:
    """Guides as they are kept: under the key that encrypts."""
    name = key_name(cipher, cipher.current, purpose=PURPOSE)
    return KeptGuides(name, keyed_hashes(cipher, cipher.current, numbers, purpose=PURPOSE))


def sought_guides(
    cipher: Cipher, numbers: Iterable[str], claim_id: str, payer_ids: Sequence[str]
) -> SoughtGuides:
    """A claim's guides as they are looked for."""
    return SoughtGuides(claim_id, payer_ids, under_every_key(cipher, numbers, purpose=PURPOSE))


class Guides:
    """Guides by payer; a claim that was given up and cannot have arrived holds none."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def keep(self, arrival: Arrival, kept: KeptGuides) -> None:
        """Keep the guides of a claim's file, in place of those of an earlier file."""
        await self._put(arrival.claim_id, arrival.payer_id, kept)
        mine = update(claims).where(claims.c.claim_id == arrival.claim_id)
        await self._connection.execute(mine.values(guides_of=arrival.content_hash))

    async def keep_new(self, arrivals: Sequence[tuple[Arrival, KeptGuides]]) -> None:
        """Keep the guides of new claims, which have none."""
        rows = [row for arrival, kept in arrivals for row in _rows(arrival.claim_id, arrival.payer_id, kept)]
        if rows:
            await self._connection.execute(insert(guides), rows)
        mine = (
            update(claims).where(claims.c.claim_id == bindparam("of")).values(guides_of=bindparam("digest"))
        )
        await self._connection.execute(
            mine, [{"of": arrival.claim_id, "digest": arrival.content_hash} for arrival, _ in arrivals]
        )

    async def rekey(self, claim_id: str, kept: KeptGuides) -> None:
        """Put the same guides under another key, where the claim has any on record."""
        mine = guides.c.claim_id == claim_id
        payer_id = await self._connection.scalar(select(guides.c.payer_id).where(mine).limit(1))
        if payer_id is not None:
            await self._put(claim_id, payer_id, kept)

    async def _put(self, claim_id: str, payer_id: str, kept: KeptGuides) -> None:
        await self._connection.execute(delete(guides).where(guides.c.claim_id == claim_id))
        if rows := _rows(claim_id, payer_id, kept):
            await self._connection.execute(insert(guides), rows)

    async def holders(self, sought: SoughtGuides) -> Sequence[Holder]:
        """The other claims at the payer that hold one of the guides, by id."""
        known = (
            and_(guides.c.key_id == key_id, guides.c.guide_hash.in_(sorted(hashes)))
            for key_id, hashes in sought.hashes.items()
        )
        theirs = guides.c.payer_id.in_(sought.payer_ids) & (guides.c.claim_id != sought.claim_id)
        ids = select(guides.c.claim_id).where(theirs, or_(*known))
        query = select(claims.c.claim_id, claims.c.state).where(claims.c.claim_id.in_(ids), _may_hold())
        return [Holder(*row) for row in await self._connection.execute(query.order_by(claims.c.claim_id))]

    async def all_known(self, sought: SoughtGuides) -> bool:
        """Whether every other claim at the payer has its guides on record, under a key that is here.

        Not while a claim with a file stands under a name that no payer has: it may be this payer's.
        """
        others = claims.c.payer_id.in_(sought.payer_ids) & (claims.c.claim_id != sought.claim_id)
        query = select(claims.c.claim_id).where(others, GUIDES_NOT_KEPT, _may_hold()).limit(1)
        if await self._connection.scalar(query) is not None:
            return False
        for payer_id in sought.payer_ids:
            if (
                not await self._distinct(guides.c.key_id, guides.c.payer_id == payer_id)
                <= sought.hashes.keys()
            ):
                return False
        return not await self._are_under_other_names(sought)

    async def _are_under_other_names(self, sought: SoughtGuides) -> bool:
        for name in await self._distinct(claims.c.payer_id) - sought.configured:
            theirs = (claims.c.payer_id == name) & (claims.c.claim_id != sought.claim_id)
            with_file = theirs & claims.c.content_hash.is_not(None)
            query = select(claims.c.claim_id).where(with_file, _may_hold()).limit(1)
            if await self._connection.scalar(query) is not None:
                return True
        return False

    async def _distinct(self, column: Column[str], *where: ColumnElement[bool]) -> set[str]:
        """A column's values, from one to the next, since there are few among very many rows."""
        found: set[str] = set()
        last: str | None = ""
        while last is not None:
            query = select(func.min(column)).where(*where, column > last)
            last = await self._connection.scalar(query)
            found |= {last} if last else set()
        return found


def _may_hold() -> ColumnElement[bool]:
    """What `leaves_batch_free` denies; sends are counted row by row, or PostgreSQL would read all of them."""
    sends = select(func.count()).where(standing_arrival(claims.c.claim_id)).scalar_subquery()
    return claims.c.state.not_in(sorted(GIVEN_UP)) | (sends > 0)


def _rows(claim_id: str, payer_id: str, kept: KeptGuides) -> list[dict[str, str]]:
    same = {"claim_id": claim_id, "payer_id": payer_id, "key_id": kept.key_id}
    return [same | {"guide_hash": guide} for guide in sorted(kept.hashes)]
