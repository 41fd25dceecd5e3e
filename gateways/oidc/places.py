"""Where a provider is asked for what: read from its discovery document, and believed only where that fits."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from gateways.oidc.trouble import Doubt, ProviderDoubt

WELL_KNOWN = "/.well-known/openid-configuration"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True)
class ProviderPlaces:
    """Its addresses; `says_issuer`: what comes back from it names it. `by_post`: how it takes our secret."""

    issuer: str
    authorization: str
    token: str
    keys: str
    end_session: str | None
    says_issuer: bool
    by_post: bool


def is_provider_address(address: str) -> bool:
    """Whether nobody on the way can change what it says: https, or this machine itself."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 - reading it checks it
    except ValueError:
        return False
    if parts.username or parts.password or parts.fragment or not parts.hostname:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


def read_places(document: Mapping[str, object], issuer: str) -> ProviderPlaces:
    """Its places; refused where it is another's document, or cannot do what we need."""
    challenges = document.get("code_challenge_methods_supported", ["S256"])
    if document.get("issuer") != issuer or not isinstance(challenges, list) or "S256" not in challenges:
        raise ProviderDoubt(Doubt.DISCOVERY)
    methods = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    end_session = document.get("end_session_endpoint")
    return ProviderPlaces(
        issuer=issuer,
        authorization=_address(document.get("authorization_endpoint")),
        token=_address(document.get("token_endpoint")),
        keys=_address(document.get("jwks_uri")),
        end_session=None if end_session is None else _address(end_session),
        says_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        by_post=isinstance(methods, list) and "client_secret_basic" not in methods,
    )


def _address(given: object) -> str:
    if not isinstance(given, str) or not is_provider_address(given):
        raise ProviderDoubt(Doubt.DISCOVERY)
    return given
