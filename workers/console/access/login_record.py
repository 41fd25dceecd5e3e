"""Logins on record: who comes in and goes out, each time; who is refused, counted: nobody can flood it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from persistence.repositories.people import Person
from persistence.repositories.people_sessions import OpenSession
from persistence.store import Store, Transaction
from workers.config.console import ConsoleSettings
from workers.console.access.tokens import token_hash

WIDER = 10
"""So many times the limit of one login from one place, for a login from anywhere and for a place."""


class WayIn(StrEnum):
    """How somebody came in."""

    PASSWORD = "password"  # noqa: S105 - a name, no secret
    LINK = "link"
    PROVIDER = "provider"


class WayOut(StrEnum):
    """How a session ended, where somebody noticed."""

    LOGOUT = "logout"
    IDLE = "idle"


class Reason(StrEnum):
    """Why somebody was refused, beside a doubt about a provider's word."""

    PASSWORD = "password"  # noqa: S105 - a name, no secret
    TOO_MANY = "too_many"
    LINK = "link"
    DISABLED = "disabled"
    NO_ROLE = "no_role"


@dataclass(frozen=True, slots=True)
class LoginRecord:
    """Writes it down. Of refusals the first, and those at which limits are reached, with their number."""

    store: Store
    settings: ConsoleSettings

    async def came(self, tx: Transaction, person: Person, way: WayIn, now: datetime) -> None:
        """In the transaction of the session that begins."""
        before = await tx.login_trials.take(_scope(person.login), since=now - self.window)
        await tx.logins.came(person.signature, way, before, now=now)

    async def left(self, session: OpenSession, how: WayOut, now: datetime) -> None:
        """End a session; it is noted once, whoever else ends it at the same time."""

        async def leave(tx: Transaction) -> None:
            if await tx.people_sessions.end(session.token_hash):
                await tx.logins.left(session.person.signature, how, now=now)

        await self.store.run(leave)

    async def refused(self, person: Person | None, why: str, now: datetime) -> None:
        """Count a refusal, and note it where its number says so; all who are not known count as one."""
        login = person.login if person else ""
        scope, since = _scope(login), now - self.window

        async def note(tx: Transaction) -> None:
            counts = await tx.login_trials.count([scope], now=now, since=since)
            if counts[scope] in self._noted:
                await tx.logins.refused(login, why, counts[scope], now=now)

        await self.store.run(note)

    @property
    def window(self) -> timedelta:
        """For how long trials count."""
        return timedelta(minutes=self.settings.login_minutes)

    @property
    def _noted(self) -> frozenset[int]:
        most = self.settings.login_failures
        return frozenset({1, most, WIDER * most})


def _scope(login: str) -> str:
    return token_hash(f"refused {login}")
