"""The provider that the console is registered with: people are sent there, what comes back is checked."""

import asyncio
import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Generic, TypeVar
from urllib.parse import quote, urlencode

import httpx
from joserfc.jwk import KeySet

from gateways.oidc.asking import HEADERS, OpenHttp, ask, opened_http, read_document
from gateways.oidc.id_tokens import Claims, Expected, believed, read_keys
from gateways.oidc.places import WELL_KNOWN, ProviderPlaces, read_places
from gateways.oidc.trouble import Doubt, ProviderAway, ProviderDoubt

KEPT_SECONDS = 3_600.0
AGAIN_SECONDS = 5.0
"""So long a provider that was away is not asked again, and keys that were just read are not read anew."""
CODE_MOST = 4_000
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Registration:
    """What this console is at the provider, and where people come back to."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    scopes: str
    comes_back_to: str


@dataclass(frozen=True, slots=True)
class Secrets:
    """What one login under way is known by; each is told to nobody but who needs it."""

    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)


class KeptDocument(Generic[Read]):
    """A document that is read when it is wanted, kept for a while, and by one at a time."""

    def __init__(self, read: Callable[[], Awaitable[Read]], seconds: Callable[[], float]) -> None:
        self._read = read
        self._seconds = seconds
        self._turn = asyncio.Lock()
        self._kept: Read | None = None
        self._trouble: ProviderAway | ProviderDoubt | None = None
        self._asked_at = float("-inf")

    async def get(self, *, anew: bool = False) -> Read:
        """As it was read lately; `anew`: read again, unless it just was."""
        async with self._turn:
            age = self._seconds() - self._asked_at
            if age < AGAIN_SECONDS and self._trouble:
                raise self._trouble.with_traceback(None)
            if self._kept is None or age >= (AGAIN_SECONDS if anew else KEPT_SECONDS):
                self._kept = await self._asked()
            return self._kept

    async def _asked(self) -> Read:
        self._trouble = None
        try:
            return await self._read()
        except (ProviderAway, ProviderDoubt) as trouble:
            self._kept, self._trouble = None, trouble
            raise
        finally:
            self._asked_at = self._seconds()


class OpenIdProvider:
    """The provider; nothing that it hands out is kept beyond the answer to one person."""

    def __init__(
        self,
        registration: Registration,
        *,
        opened: OpenHttp = opened_http,
        seconds: Callable[[], float] = monotonic,
    ) -> None:
        """Asks nothing yet: who starts while the provider is away starts."""
        self.registration = registration
        self._opened = opened
        self._places = KeptDocument(self._read_places, seconds)
        self._keys = KeptDocument(self._read_keys, seconds)

    async def entrance(self, secrets: Secrets) -> str:
        """Where somebody is sent to say who they are."""
        challenge = hashlib.sha256(secrets.verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self.registration.client_id,
            "redirect_uri": self.registration.comes_back_to,
            "scope": self.registration.scopes,
            "state": secrets.state,
            "nonce": secrets.nonce,
            "code_challenge": base64.urlsafe_b64encode(challenge).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return _with_query((await self._places.get()).authorization, asked)

    async def exit(self, back_to: str) -> str | None:
        """Where somebody is sent to log out there too, if it offers that."""
        end_session = (await self._places.get()).end_session
        asked = {"client_id": self.registration.client_id, "post_logout_redirect_uri": back_to}
        return None if end_session is None else _with_query(end_session, asked)

    async def claims(self, given: Mapping[str, str], secrets: Secrets, now: datetime) -> Claims:
        """Who came back, by the answer's code; `given` is the answer, whose state was looked at before."""
        places = await self._places.get()
        _require_sender(given, places)
        if "error" in given:
            raise ProviderDoubt(Doubt.REFUSED)
        tokens = await self._tokens(given.get("code", ""), secrets.verifier, places)
        token, access_token = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(token, str):
            raise ProviderDoubt(Doubt.MALFORMED)
        beside = access_token if isinstance(access_token, str) else None
        client_id = self.registration.client_id
        expected = Expected(places.issuer, client_id, secrets.nonce, now, beside)
        return await self._believed(token, expected)

    async def _believed(self, token: str, expected: Expected) -> Claims:
        """A key that is not known may be new: the keys are read again once."""
        try:
            return believed(token, await self._keys.get(), expected)
        except ProviderDoubt as doubt:
            if doubt.doubt is not Doubt.KEY:
                raise
        return believed(token, await self._keys.get(anew=True), expected)

    async def _tokens(self, code: str, verifier: str, places: ProviderPlaces) -> Mapping[str, object]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.registration.comes_back_to,
            "code_verifier": verifier,
        }
        if not 0 < len(code) <= CODE_MOST:
            raise ProviderDoubt(Doubt.CODE)
        heard = await ask(self._opened, self._token_request(form, places))
        if heard.status >= httpx.codes.INTERNAL_SERVER_ERROR:
            raise ProviderAway(f"HTTP {heard.status}")
        if heard.status != httpx.codes.OK:
            raise ProviderDoubt(Doubt.CODE)
        return heard.document

    def _token_request(self, form: Mapping[str, str], places: ProviderPlaces) -> httpx.Request:
        """With our secret in the way that it takes it."""
        client = self.registration
        if places.by_post:
            own = {"client_id": client.client_id, "client_secret": client.client_secret}
            return httpx.Request("POST", places.token, data={**form, **own}, headers=HEADERS)
        pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}"
        basic = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        return httpx.Request("POST", places.token, data=dict(form), headers=HEADERS | basic)

    async def _read_places(self) -> ProviderPlaces:
        issuer = self.registration.issuer
        return read_places(await read_document(self._opened, issuer.rstrip("/") + WELL_KNOWN), issuer)

    async def _read_keys(self) -> KeySet:
        return read_keys(await read_document(self._opened, (await self._places.get()).keys))


def _require_sender(given: Mapping[str, str], places: ProviderPlaces) -> None:
    """Who answers is who was asked (RFC 9207): an answer of another provider is not taken to this one."""
    sender = given.get("iss")
    if (sender is not None or places.says_issuer) and sender != places.issuer:
        raise ProviderDoubt(Doubt.SENDER)


def _with_query(address: str, values: Mapping[str, str]) -> str:
    return f"{address}{'&' if '?' in address else '?'}{urlencode(values)}"
