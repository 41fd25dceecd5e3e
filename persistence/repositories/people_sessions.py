"""Where people are logged in, and links that log somebody in once: by the hashes of their tokens."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.repositories.people import Person, read_person
from persistence.tables import login_links as links
from persistence.tables import people
from persistence.tables import people_sessions as sessions


@dataclass(frozen=True, slots=True)
class NewSession:
    """A login that has just succeeded."""

    token_hash: str
    person_id: int
    csrf: str
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class OpenSession:
    """Somebody who is logged in: since when, last seen when, until when at most."""

    token_hash: str
    person: Person
    csrf: str
    created_at: datetime
    seen_at: datetime
    ends_at: datetime


class PeopleSessions:
    """Sessions and links; the tokens themselves are known to who holds them alone."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def begin(self, new: NewSession, *, now: datetime) -> None:
        """Keep a session, and forget those that are over."""
        await self._connection.execute(delete(sessions).where(sessions.c.ends_at <= now))
        row = {
            "token_hash": new.token_hash,
            "person_id": new.person_id,
            "csrf": new.csrf,
            "created_at": now,
            "seen_at": now,
            "ends_at": new.ends_at,
        }
        await self._connection.execute(insert(sessions).values(row))

    async def find(self, token_hash: str, *, now: datetime) -> OpenSession | None:
        """The session, unless it is over or its person is disabled."""
        held = people.c.person_id == sessions.c.person_id
        own = [sessions.c[name] for name in ("token_hash", "csrf", "seen_at", "ends_at")]
        query = (
            select(people, *own, sessions.c.created_at.label("begun_at"))
            .join_from(sessions, people, held)
            .where(sessions.c.token_hash == token_hash, sessions.c.ends_at > now)
            .where(people.c.disabled_at.is_(None))
        )
        row = (await self._connection.execute(query)).one_or_none()
        if row is None:
            return None
        moments = row.begun_at, row.seen_at, row.ends_at
        return OpenSession(row.token_hash, read_person(row), row.csrf, *moments)

    async def seen(self, token_hash: str, *, now: datetime) -> None:
        """Note that its person is there."""
        mine = sessions.c.token_hash == token_hash
        await self._connection.execute(update(sessions).where(mine).values(seen_at=now))

    async def end(self, token_hash: str) -> bool:
        """It opens nothing from now on; False when it did not any more."""
        ended = await self._connection.execute(delete(sessions).where(sessions.c.token_hash == token_hash))
        return ended.rowcount == 1

    async def end_all(self, person_id: int) -> None:
        """Log a person out everywhere, and take their links back."""
        await self._connection.execute(delete(sessions).where(sessions.c.person_id == person_id))
        await self._connection.execute(delete(links).where(links.c.person_id == person_id))

    async def offer_link(self, token_hash: str, person_id: int, *, ends_at: datetime) -> None:
        """Keep a link that logs a person in once."""
        row = {"token_hash": token_hash, "person_id": person_id, "ends_at": ends_at}
        await self._connection.execute(insert(links).values(row))

    async def spend_link(self, token_hash: str, *, now: datetime) -> Person | None:
        """Whose link it is, the first time; nobody's when it was used, is over, or they are disabled."""
        await self._connection.execute(delete(links).where(links.c.ends_at <= now))
        mine = links.c.token_hash == token_hash
        spent = await self._connection.execute(delete(links).where(mine).returning(links.c.person_id))
        person_id = spent.scalar_one_or_none()
        if person_id is None:
            return None
        enabled = (people.c.person_id == person_id) & people.c.disabled_at.is_(None)
        row = (await self._connection.execute(select(people).where(enabled))).one_or_none()
        return None if row is None else read_person(row)
