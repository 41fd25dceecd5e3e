"""Coming in by a provider: sent there with a secret of one's own, and back with what it says of somebody."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto

import structlog

from gateways.oidc.provider import OpenIdProvider, Registration
from gateways.oidc.trouble import Doubt, ProviderAway, ProviderDoubt
from persistence.repositories.people import Person
from workers.config.console import ConsoleSettings
from workers.config.oidc import BACK_PATH, OidcSettings
from workers.console.access.entrance import Entered, Entrance, Recognised
from workers.console.access.handshake import Handshake, read_handshake
from workers.console.access.login_record import WIDER, Reason, WayIn
from workers.console.access.provided import ToldPerson, let_in, read_told
from workers.console.access.tokens import same, token_hash

log = structlog.get_logger(__name__)


class ProviderRefusal(Enum):
    """Why somebody who was at the provider does not come in."""

    DOUBTED = auto()
    AWAY = auto()
    TOO_MANY = auto()
    NO_ROLE = auto()
    DISABLED = auto()


@dataclass(frozen=True, slots=True)
class CameBack:
    """A browser that comes back: what its cookie keeps, what the address says, from where, as who before."""

    kept: str = field(repr=False)
    given: Mapping[str, str] = field(repr=False)
    place: str = ""
    held: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ProviderEntrance:
    """The way in by a provider."""

    entrance: Entrance
    provider: OpenIdProvider
    terms: OidcSettings

    async def begin(self, onward: str) -> tuple[Handshake, str] | ProviderRefusal:
        """What the browser keeps, and where it is sent."""
        now = await self.entrance.clock.now()
        handshake = Handshake(self.entrance.tokens(), int(now.timestamp()), onward)
        try:
            return handshake, await self.provider.entrance(handshake.secrets)
        except (ProviderAway, ProviderDoubt) as trouble:
            log.warning("console_provider_away", why=str(trouble))
            return ProviderRefusal.AWAY

    async def end(self, base_url: str) -> str | None:
        """Where to log out at the provider too; nowhere while it is away."""
        try:
            return await self.provider.exit(f"{base_url}/login")
        except (ProviderAway, ProviderDoubt) as trouble:
            log.warning("console_provider_away", why=str(trouble))
            return None

    async def come_back(self, came: CameBack) -> tuple[Entered, str] | ProviderRefusal:
        """In, and where to go on to; the provider is asked only about a login that this browser began."""
        now = await self.entrance.clock.now()
        handshake = read_handshake(came.kept, now)
        if handshake is None or not same(came.given.get("state", ""), handshake.secrets.state):
            return await self._refused(None, Doubt.STATE, now)
        limits = {token_hash(f"provider {came.place}"): WIDER * self.entrance.settings.login_failures}
        if await self.entrance.is_over_limit(limits, now):
            await self._refused(None, Reason.TOO_MANY, now)
            return ProviderRefusal.TOO_MANY
        found = await self._believed(came, handshake, now)
        if isinstance(found, ProviderRefusal):
            return found
        entered = await self._entered(found, came.held, now)
        if isinstance(entered, Entered):
            await self.entrance.forgive(limits, now)
            return entered, handshake.onward
        return entered

    async def _believed(
        self, came: CameBack, handshake: Handshake, now: datetime
    ) -> ToldPerson | ProviderRefusal:
        try:
            claims = await self.provider.claims(came.given, handshake.secrets, now)
        except ProviderDoubt as doubted:
            return await self._refused(None, doubted.doubt, now)
        except ProviderAway as away:
            log.warning("console_provider_away", why=str(away))
            return ProviderRefusal.AWAY
        return read_told(claims, self.terms)

    async def _entered(self, told: ToldPerson, held: str, now: datetime) -> Entered | ProviderRefusal:
        store = self.entrance.store
        if not told.roles:
            known = await store.look(lambda tx: tx.people.find_provided(told.issuer, told.subject))
            await self._refused(known, Reason.NO_ROLE, now)
            return ProviderRefusal.NO_ROLE
        person = await store.run(lambda tx: let_in(tx, told, now))
        entered = None
        if person and person.disabled_at is None:
            entered = await self.entrance.begin(Recognised(person, WayIn.PROVIDER, held), now)
        if entered is None:
            await self._refused(person, Reason.DISABLED, now)
            return ProviderRefusal.DISABLED
        return entered

    async def _refused(self, person: Person | None, why: str, now: datetime) -> ProviderRefusal:
        log.warning("console_login_refused", person=person.login if person else None, why=str(why))
        await self.entrance.record.refused(person, why, now)
        return ProviderRefusal.DOUBTED


def provider_entrance(entrance: Entrance, settings: ConsoleSettings) -> ProviderEntrance | None:
    """The way in by the provider that is set, if one is."""
    terms, base_url = settings.oidc, settings.base_url
    if terms is None or base_url is None:
        return None
    client = Registration(
        terms.issuer, terms.client_id, terms.client_secret, terms.scopes, f"{base_url}{BACK_PATH}"
    )
    return ProviderEntrance(entrance, OpenIdProvider(client), terms)
