"""Coming in and going out: passwords within limits, links that open once, sessions that end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto

import structlog

from domain.access import AccessRefusal, read_login
from domain.ports import Clock
from persistence.repositories.people import Person
from persistence.repositories.people_sessions import NewSession, OpenSession
from persistence.store import Store, Transaction
from workers.config.console import ConsoleSettings
from workers.console.access.login_record import WIDER, LoginRecord, Reason, WayIn, WayOut
from workers.console.access.passwords import Passwords
from workers.console.access.tokens import new_token, token_hash

SEEN_APART = timedelta(minutes=1)
LINK_OPENS = timedelta(minutes=15)
log = structlog.get_logger(__name__)


class LoginRefusal(Enum):
    """Why somebody does not come in."""

    WRONG = auto()
    TOO_MANY = auto()


@dataclass(frozen=True, slots=True)
class Credentials:
    """What somebody gives to come in, and from where; `held` is the token of a session they had before."""

    login: str
    password: str = field(repr=False)
    place: str
    held: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Entered:
    """Somebody came in: the token is for their cookie, and known to nobody else."""

    token: str = field(repr=False)
    person: Person


@dataclass(frozen=True, slots=True)
class Recognised:
    """Somebody who has shown who they are: how, the token of a session they had, and a stronger hash."""

    person: Person
    way: WayIn
    held: str = field(default="", repr=False)
    rehashed: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Entrance:
    """The one way in and out; `clock` is the wall's, whatever time claims live by."""

    store: Store
    passwords: Passwords
    settings: ConsoleSettings
    clock: Clock
    tokens: Callable[[], str] = new_token

    @property
    def record(self) -> LoginRecord:
        """Where it is written down."""
        return LoginRecord(self.store, self.settings)

    async def log_in(self, given: Credentials) -> Entered | LoginRefusal:
        """With a password."""
        now = await self.clock.now()
        found = await self._checked(given, now)
        return (
            found if isinstance(found, LoginRefusal) else await self.begin(found, now) or LoginRefusal.WRONG
        )

    async def knows_password(self, given: Credentials) -> bool:
        """Whether somebody who is in knows their password; guesses are counted as those at the door are."""
        return isinstance(await self._checked(given, await self.clock.now()), Recognised)

    async def _checked(self, given: Credentials, now: datetime) -> Recognised | LoginRefusal:
        """Each trial is counted before its password is looked at."""
        login = _login(given.login)
        is_over = await self.is_over_limit(self._limits(login, given.place), now)
        person = await self.store.look(lambda tx: tx.people.find(login)) if login else None
        if is_over:
            log.warning("console_login_limited")
            await self.record.refused(person, Reason.TOO_MANY, now)
            return LoginRefusal.TOO_MANY
        kept = person.password_hash if person and person.disabled_at is None else None
        fit = await self.passwords.compare(kept if self.settings.password_login else None, given.password)
        if person is None or not fit.is_right:
            log.warning("console_login_refused", person=person.login if person else None)
            await self.record.refused(person, Reason.PASSWORD, now)
            return LoginRefusal.WRONG
        await self.forgive(self._limits(login, given.place), now)
        return Recognised(person, WayIn.PASSWORD, given.held, fit.rehashed)

    async def by_link(self, token: str, held: str = "") -> Entered | None:
        """With a link that opens once."""
        now = await self.clock.now()
        person = await self.store.run(lambda tx: tx.people_sessions.spend_link(token_hash(token), now=now))
        if person is None:
            await self.record.refused(None, Reason.LINK, now)
            return None
        return await self.begin(Recognised(person, WayIn.LINK, held), now)

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
            await self.record.left(found, WayOut.IDLE, now)
            return None
        if is_there and now - found.seen_at > SEEN_APART:
            await self.store.run(lambda tx: tx.people_sessions.seen(key, now=now))
        return found

    async def log_out(self, session: OpenSession) -> None:
        """Its token opens nothing from now on, whoever holds a copy."""
        await self.record.left(session, WayOut.LOGOUT, await self.clock.now())

    async def begin(self, known: Recognised, now: datetime) -> Entered | None:
        """Always with a new token: one that was planted before opens nothing.

        None for whom another password was set, or who was shut out, since they were looked up.
        """
        token, ends_at, person = self.tokens(), now + self.settings.session, known.person
        new = NewSession(token_hash(token), person.person_id, self.tokens(), ends_at)

        async def begin(tx: Transaction) -> bool:
            if not await tx.people.lock_unchanged(person):
                return False
            if known.rehashed:
                await tx.people.keep_rehashed(person.person_id, known.rehashed)
            if known.held:
                await tx.people_sessions.end(token_hash(known.held))
            await tx.people_sessions.begin(new, now=now)
            await self.record.came(tx, person, known.way, now)
            return True

        if not await self.store.run(begin):
            return None
        log.info("console_login", person=person.login)
        return Entered(token, person)

    async def is_over_limit(self, limits: Mapping[str, int], now: datetime) -> bool:
        """Count a trial in each scope; whether there were more than its limit in any."""
        since = now - self.record.window
        counts = await self.store.run(lambda tx: tx.login_trials.count(limits, now=now, since=since))
        return any(counts[scope] > limit for scope, limit in limits.items())

    async def forgive(self, limits: Mapping[str, int], now: datetime) -> None:
        """Somebody came in: their scopes count anew."""
        scopes, since = list(limits), now - self.record.window
        await self.store.run(lambda tx: tx.login_trials.forgive(scopes, since=since))

    def _limits(self, login: str, place: str) -> Mapping[str, int]:
        """Whoever guesses elsewhere locks nobody out of their own place at once."""
        most = self.settings.login_failures
        scopes = {
            f"both {login} {place}": most,
            f"login {login}": WIDER * most,
            f"place {place}": WIDER * most,
        }
        return {token_hash(scope): limit for scope, limit in scopes.items()}


def _login(typed: str) -> str:
    try:
        return read_login(typed)
    except AccessRefusal:
        return ""
