"""People of the console, by login and by id."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.access import Permission, Role, permissions_of
from persistence.database.dialect import insert_into
from persistence.tables import people

COMMA = ","


@dataclass(frozen=True, slots=True)
class NewPerson:
    """Somebody who is to be let in."""

    login: str
    name: str
    roles: frozenset[Role]
    language: str = "pt"
    password_hash: str | None = None
    issuer: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who is known; a disabled one comes in no more."""

    person_id: int
    login: str
    name: str
    roles: frozenset[Role]
    language: str
    password_hash: str | None
    created_at: datetime
    password_set_at: datetime | None = None
    disabled_at: datetime | None = None
    issuer: str | None = None
    subject: str | None = None

    @property
    def comes_by_provider(self) -> bool:
        """Whether a provider says who they are and what they may, and no password does."""
        return self.issuer is not None

    @property
    def permissions(self) -> frozenset[Permission]:
        """What they may."""
        return permissions_of(self.roles)

    @property
    def signature(self) -> str:
        """How they stand on record with what they order."""
        return f"{self.name} ({self.login}, console)"


class KnownPeople:
    """Finds and changes them; whoever changes one says so in the audit trail, in the same transaction."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def find(self, login: str) -> Person | None:
        """Who has this login."""
        row = (await self._connection.execute(select(people).where(people.c.login == login))).one_or_none()
        return None if row is None else read_person(row)

    async def find_provided(self, issuer: str, subject: str) -> Person | None:
        """Whom this provider means by this subject; never by another mark of theirs."""
        named = (people.c.issuer == issuer) & (people.c.subject == subject)
        row = (await self._connection.execute(select(people).where(named))).one_or_none()
        return None if row is None else read_person(row)

    async def lock_unchanged(self, person: Person) -> bool:
        """Whether they come in as they did when they were found; nobody changes that until it is over."""
        same = (people.c.person_id == person.person_id) & people.c.disabled_at.is_(None)
        query = select(people.c.password_hash).where(same).with_for_update()
        row = (await self._connection.execute(query)).one_or_none()
        return row is not None and row.password_hash == person.password_hash

    async def all(self) -> Sequence[Person]:
        """Everybody, by login."""
        rows = await self._connection.execute(select(people).order_by(people.c.login))
        return [read_person(row) for row in rows]

    async def any(self) -> bool:
        """Whether anybody is known."""
        return await self._connection.scalar(select(people.c.person_id).limit(1)) is not None

    async def add(self, new: NewPerson, *, now: datetime) -> bool:
        """Let somebody in; False when the login is taken."""
        row = {
            "login": new.login,
            "name": new.name,
            "roles": COMMA.join(sorted(new.roles)),
            "language": new.language,
            "password_hash": new.password_hash,
            "password_set_at": now if new.password_hash else None,
            "created_at": now,
            "issuer": new.issuer,
            "subject": new.subject,
        }
        made = insert_into(self._connection, people).values(row).on_conflict_do_nothing()
        return (await self._connection.execute(made)).rowcount == 1

    async def set_password(self, person_id: int, password_hash: str, *, now: datetime) -> None:
        """Keep another password."""
        await self._change(person_id, password_hash=password_hash, password_set_at=now)

    async def keep_rehashed(self, person_id: int, password_hash: str) -> None:
        """Keep the same password under stronger terms."""
        await self._change(person_id, password_hash=password_hash)

    async def disable(self, person_id: int, *, now: datetime) -> None:
        """Let them in no more."""
        await self._change(person_id, disabled_at=now)

    async def enable(self, person_id: int) -> None:
        """Let them in again."""
        await self._change(person_id, disabled_at=None)

    async def set_roles(self, person_id: int, roles: Collection[Role]) -> None:
        """They may something else from now on."""
        await self._change(person_id, roles=COMMA.join(sorted(roles)))

    async def rename(self, person_id: int, name: str) -> None:
        """They are called something else from now on."""
        await self._change(person_id, name=name)

    async def speak(self, person_id: int, language: str) -> None:
        """Keep the language they read."""
        await self._change(person_id, language=language)

    async def _change(self, person_id: int, **values: object) -> None:
        await self._connection.execute(update(people).where(people.c.person_id == person_id).values(**values))


def read_person(row: Row[Any]) -> Person:
    """A person of a row that has all of its columns."""
    values = {name: row._mapping[name] for name in Person.__dataclass_fields__}
    return Person(**(values | {"roles": _roles(row.roles)}))


def _roles(kept: str) -> frozenset[Role]:
    """Roles that a newer version knows and this one does not are no roles here."""
    known = set(Role)
    return frozenset(Role(name) for name in kept.split(COMMA) if name in known)
