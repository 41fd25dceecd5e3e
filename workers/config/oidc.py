"""An OpenID provider by which people come into the console, and which of its groups have which roles here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BeforeValidator
from pydantic_settings import NoDecode

from domain.access import Role
from gateways.oidc.places import is_provider_address
from workers.config.topic import read_json

BACK_PATH = "/login/provider/back"
SCOPE = "openid"


def _roles(given: object) -> object:
    """JSON, in which one role needs no list around it."""
    if given is None:
        return None
    read = read_json(given)
    if not isinstance(read, dict) or not read:
        raise ValueError('it is an object of their groups and our roles: {"faturamento": ["billing"]}')
    return {name: [one] if isinstance(one, str) else one for name, one in read.items()}


RolesByGroup = Annotated[dict[str, frozenset[Role]] | None, NoDecode, BeforeValidator(_roles)]


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The provider, what we are there, and what its words mean here."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    scopes: str
    roles_claim: str
    roles: Mapping[str, frozenset[Role]]


def require_issuer(given: str) -> str:
    """The provider's address as it names itself, letter by letter."""
    if not is_provider_address(given) or "?" in given:
        raise ValueError("it is the provider's address, with https: https://login.example/realms/hospital")
    return given


def require_scopes(given: str) -> str:
    """What is asked of the provider; without `openid` it would not say who somebody is."""
    if SCOPE not in given.split():
        raise ValueError("it holds `openid`: openid profile")
    return " ".join(given.split())
