"""Policies that people adopted: the newest row says which is in force; nothing is ever changed or removed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

from sqlalchemy import Row, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.repositories.noting import Noting
from persistence.repositories.operator_orders import NO_SUBJECT
from persistence.tables import adopted_policies as adopted

OWN_POLICY = 0
"""In place of a row: the policy of the settings, a file's or the packaged one."""
ADOPTED, UNDONE = "policy_adopted", "policy_undone"


class AdoptionKind(StrEnum):
    """How a policy came into force."""

    ADOPTED = "ADOPTED"
    UNDONE = "UNDONE"


@dataclass(frozen=True, slots=True)
class NewAdoption:
    """What comes into force: a document, or without one the settings' own policy; who asked, and why."""

    kind: AdoptionKind
    policy: str | None
    document: str | None = field(repr=False)
    replaces: int
    returns_to: int | None
    ordered_by: str
    reason: str

    @property
    def document_hash(self) -> str | None:
        """What is sealed of the document."""
        return None if self.document is None else hash_of(self.document)

    @property
    def facts(self) -> dict[str, object]:
        """What is sealed of it, beside its number."""
        return {
            "policy": self.policy,
            "sha256": self.document_hash,
            "replaces": self.replaces,
            "by": self.ordered_by,
            "reason": self.reason,
        }

    @property
    def event(self) -> str:
        """What the trail calls it."""
        return ADOPTED if self.kind is AdoptionKind.ADOPTED else UNDONE


@dataclass(frozen=True, slots=True)
class KeptAdoption(NewAdoption):
    """An adoption on record; `kept_hash` is what its row says of the document."""

    adoption_id: int
    at: datetime
    kept_hash: str | None

    @property
    def is_whole(self) -> bool:
        """Whether the document is the one that was kept."""
        return self.document_hash == self.kept_hash and (self.document is None) == (self.policy is None)


def hash_of(document: str) -> str:
    """SHA-256 of a document, as hex digits."""
    return sha256(document.encode()).hexdigest()


class AdoptedPolicies:
    """Adoptions in their order."""

    def __init__(self, connection: AsyncConnection, notes: Noting) -> None:
        self._connection = connection
        self._notes = notes

    async def newest_id(self) -> int:
        """The number of the newest; OWN_POLICY when nothing was ever adopted."""
        query = select(adopted.c.adoption_id).order_by(adopted.c.adoption_id.desc()).limit(1)
        return await self._connection.scalar(query) or OWN_POLICY

    async def newest(self) -> KeptAdoption | None:
        """The one in force."""
        found = await self.history(1)
        return found[0] if found else None

    async def find(self, adoption_id: int) -> KeptAdoption | None:
        """One by its number."""
        query = select(adopted).where(adopted.c.adoption_id == adoption_id)
        row = (await self._connection.execute(query)).one_or_none()
        return None if row is None else _kept(row)

    async def history(self, limit: int) -> Sequence[KeptAdoption]:
        """The newest, newest first."""
        query = select(adopted).order_by(adopted.c.adoption_id.desc()).limit(limit)
        return [_kept(row) for row in await self._connection.execute(query)]

    async def labels(self) -> Sequence[str]:
        """All versions with their contents that were ever adopted."""
        query = select(adopted.c.policy).where(adopted.c.policy.is_not(None)).distinct()
        return [str(label) for label in await self._connection.scalars(query)]

    async def keep(self, new: NewAdoption, *, now: datetime) -> int:
        """Keep it, sealed with the document's hash; returns its number."""
        names = (*NewAdoption.__dataclass_fields__, "document_hash")
        row = {name: getattr(new, name) for name in names} | {"at": now}
        kept = await self._connection.execute(insert(adopted).values(row).returning(adopted.c.adoption_id))
        number = int(kept.scalar_one())
        await self._notes.add(NO_SUBJECT, new.event, {"adoption": number, **new.facts}, now=now)
        return number


def _kept(row: Row[Any]) -> KeptAdoption:
    values = dict(row._mapping)
    kept_hash, kind = values.pop("document_hash"), AdoptionKind(values.pop("kind"))
    return KeptAdoption(**values, kind=kind, kept_hash=kept_hash)
