"""How large and how late claims may be, and where and from whom they are taken in over HTTP."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import SettingsConfigDict

from domain.access import Role
from domain.intake import MAX_FILE_BYTES
from workers.config.topic import SettingsError, Topic

TOKEN_LENGTH = 32
_NAMED = re.compile(r"([A-Za-z0-9._-]{1,40}):([a-z_+]*):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SystemToken:
    """A system that may use the HTTP interface, with its roles; `token` is a secret."""

    name: str
    roles: frozenset[Role]
    token: str = field(repr=False)


class IntakeSettings(Topic):
    """What files and deadlines are held to."""

    model_config = SettingsConfigDict(env_prefix="CLAIM_")

    deadline_hours: float = Field(default=48, gt=0, le=24 * 366)
    max_bytes: int = Field(default=10_000_000, ge=1_000, le=MAX_FILE_BYTES)


class ApiSettings(Topic):
    """The HTTP interface; without a port there is none."""

    model_config = SettingsConfigDict(env_prefix="API_")

    host: str = "127.0.0.1"
    port: int | None = Field(default=None, ge=0, le=65535)
    tokens: SecretStr | None = None

    @field_validator("tokens")
    @classmethod
    def _tokens_are_long(cls, given: SecretStr | None) -> SecretStr | None:
        if given is not None:
            _require_apart(_split(given))
        return given

    @property
    def accepted_tokens(self) -> tuple[SystemToken, ...]:
        """Who may use the HTTP interface; without anybody it does not start."""
        if self.tokens is None:
            raise SettingsError(
                "API_TOKENS is not set: give each system that may hand in claims a token of its own "
                f"(at least {TOKEN_LENGTH} characters, separated by commas), or unset API_PORT."
            )
        return _split(self.tokens)


def _split(given: SecretStr) -> tuple[SystemToken, ...]:
    """`TOKEN` hands claims in and sees them; `name:role+role:TOKEN` may what its roles may."""
    entries = given.get_secret_value().split(",")
    return tuple(_read(entry.strip(), number) for number, entry in enumerate(entries, start=1))


def _read(entry: str, number: int) -> SystemToken:
    named = _NAMED.fullmatch(entry)
    if named is None:
        return SystemToken(f"system-{number}", frozenset({Role.INTAKE}), entry)
    name, roles, token = named.groups()
    unknown = sorted(set(roles.split("+")) - set(Role))
    if unknown:
        raise ValueError(f"{name} has a role that there is not; there are {', '.join(Role)}")
    return SystemToken(name, frozenset(Role(role) for role in roles.split("+")), token)


def _require_apart(tokens: Sequence[SystemToken]) -> None:
    if any(len(one.token) < TOKEN_LENGTH for one in tokens):
        raise ValueError(f"each token needs at least {TOKEN_LENGTH} characters (`openssl rand -hex 32`)")
    if len({one.name for one in tokens}) < len(tokens):
        raise ValueError("two systems have the same name: orders on record could not be told apart")
    if len({one.token for one in tokens}) < len(tokens):
        raise ValueError("two systems have the same token: give each its own")
