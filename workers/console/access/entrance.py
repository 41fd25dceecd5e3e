"""Coming in and going out: passwords within limits, links that open once, sessions that end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

import structlog

from domain.access import AccessRefusal, read_login
from domain.ports import Clock
from persistence.repositories.people import Person
from persistence.repositories.people_sessions import NewSession, OpenSession
from persistence.store import Store, Transaction
from workers.config.console import ConsoleSettings
from workers.console.access.passwords import Passwords
from workers.console.access.tokens import new_token, token_hash

SEEN_APART = timedelta(minutes=1)
LINK_OPENS = timedelta(minutes=15)
WIDER = 10
"""So many times the limit of one login from one place, for a login from anywhere and for a place."""
log = structlog.get_logger(__name__)


class LoginRefusal(Enum):
    """Why somebody does not come in."""

    WRONG = auto()
    TOO_MANY = auto()


@dataclass(frozen=True, slots=True)
class Credentials:
    """What somebody gives to come in, and from where; `held` is the token of a session they had before."""

    login: str
    password: str
    place: str
    held: str = ""


@dataclass(frozen=True, slots=True)
class Entered:
    """Somebody came in: the token is for their cookie, and known to nobody else."""

    token: str
    person: Person


@dataclass(frozen=True, slots=True)
class Entrance:
    """The one way in and out; `clock` is the wall's, whatever time claims live by."""

    store: Store
    passwords: Passwords
    settings: ConsoleSettings
    clock: Clock
    tokens: Callable[[], str] = new_token

    async def log_in(self, given: Credentials) -> Entered | LoginRefusal:
        """With a password; each trial is counted before the password is looked at."""
        now = await self.clock.now()
        try:
            login = read_login(given.login)
        except AccessRefusal:
            login = ""
        if await self._is_over_limit(login, given.place, now):
            log.warning("console_login_limited")
            return LoginRefusal.TOO_MANY
        person = await self.store.look(lambda tx: tx.people.find(login)) if login else None
        kept = person.password_hash if person and person.disabled_at is None else None
        fit = await self.passwords.compare(kept, given.password)
        if person is None or not fit.is_right:
            log.warning("console_login_refused", person=person.login if person else None)
            return LoginRefusal.WRONG
        scopes = list(self._limits(login, given.place))
        await self.store.run(lambda tx: tx.login_trials.forgive(scopes, since=now - self._window))
        return await self._begin(person, given.held, now, fit.rehashed) or LoginRefusal.WRONG

    async def by_link(self, token: str, held: str = "") -> Entered | None:
        """With a link that opens once."""
        now = await self.clock.now()
        person = await self.store.run(lambda tx: tx.people_sessions.spend_link(token_hash(token), now=now))
        return None if person is None else await self._begin(person, held, now)

    async def offer_link(self, person: Person) -> str:
        """The token of a link that lets somebody in once, soon."""
        token, ends_at = self.tokens(), await self.clock.now() + LINK_OPENS
        offer = token_hash(token), person.person_id
        await self.store.run(lambda tx: tx.people_sessions.offer_link(*offer, ends_at=ends_at))
        return token

    async def session(self, token: str, *, is_there: bool) -> OpenSession | None:
        """Whose session a cookie's token opens; `is_there`: a person asks, not a page that renews itself."""
        if not token:
            return None
        now, key = await self.clock.now(), token_hash(token)
        found = await self.store.look(lambda tx: tx.people_sessions.find(key, now=now))
        if found is None:
            return None
        if now - found.seen_at > self.settings.idle:
            await self.log_out(token)
            return None
        if is_there and now - found.seen_at > SEEN_APART:
            await self.store.run(lambda tx: tx.people_sessions.seen(key, now=now))
        return found

    async def log_out(self, token: str) -> None:
        """The token opens nothing from now on, whoever holds a copy."""
        await self.store.run(lambda tx: tx.people_sessions.end(token_hash(token)))

    async def _begin(
        self, person: Person, held: str, now: datetime, rehashed: str | None = None
    ) -> Entered | None:
        """Always with a new token: one that was planted before opens nothing.

        None for whom another password was set, or who was shut out, since they were looked up.
        """
        token, ends_at = self.tokens(), now + self.settings.session
        new = NewSession(token_hash(token), person.person_id, self.tokens(), ends_at)

        async def begin(tx: Transaction) -> bool:
            if not await tx.people.lock_unchanged(person):
                return False
            if rehashed:
                await tx.people.keep_rehashed(person.person_id, rehashed)
            if held:
                await tx.people_sessions.end(token_hash(held))
            await tx.people_sessions.begin(new, now=now)
            return True

        if not await self.store.run(begin):
            return None
        log.info("console_login", person=person.login)
        return Entered(token, person)

    async def _is_over_limit(self, login: str, place: str, now: datetime) -> bool:
        limits, since = self._limits(login, place), now - self._window
        counts = await self.store.run(lambda tx: tx.login_trials.count(limits, now=now, since=since))
        return any(counts[scope] > limit for scope, limit in limits.items())

    def _limits(self, login: str, place: str) -> Mapping[str, int]:
        """Whoever guesses elsewhere locks nobody out of their own place at once."""
        most = self.settings.login_failures
        scopes = {
            f"both {login} {place}": most,
            f"login {login}": WIDER * most,
            f"place {place}": WIDER * most,
        }
        return {token_hash(scope): limit for scope, limit in scopes.items()}

    @property
    def _window(self) -> timedelta:
        return timedelta(minutes=self.settings.login_minutes)
