"""Where the console listens, how long people stay logged in, and how often a password may be guessed."""

import ipaddress
from datetime import timedelta
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import SettingsConfigDict

from workers.config.oidc import OidcSettings, RolesByGroup, require_issuer, require_scopes
from workers.config.topic import Topic

USUAL_PORT = 8095


class ConsoleSettings(Topic):
    """The console; it answers this machine alone unless it is told its address."""

    model_config = SettingsConfigDict(env_prefix="CONSOLE_")

    host: str = "127.0.0.1"
    port: int | None = Field(default=None, ge=0, le=65535)
    base_url: str | None = Field(default=None, validate_default=True)
    session_hours: float = Field(default=10, gt=0, le=24 * 7)
    idle_minutes: float = Field(default=60, gt=0, le=24 * 60)
    login_failures: int = Field(default=5, ge=1, le=1_000)
    login_minutes: float = Field(default=15, gt=0, le=24 * 60)
    write_off_by_two: bool = False
    oidc_issuer: str | None = Field(default=None, max_length=255)
    oidc_client_id: str | None = Field(default=None, max_length=255, validate_default=True)
    oidc_client_secret: SecretStr | None = Field(default=None, validate_default=True)
    oidc_scopes: str = "openid profile"
    oidc_roles_claim: str = "roles"
    oidc_roles: RolesByGroup = Field(default=None, validate_default=True)
    oidc_name: str | None = Field(default=None, max_length=60)
    password_login: bool = True

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, given: str | None, others: ValidationInfo) -> str | None:
        if given is None and not _is_loopback(others.data.get("host", "")):
            raise ValueError("CONSOLE_HOST lets others in: set it to the address they open, with https")
        parts = urlsplit(given or "http://localhost")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise ValueError("it is the address people open, without a path: https://reenvio.example")
        if parts.scheme == "http" and not _is_loopback(parts.hostname):
            raise ValueError(
                "passwords would travel in clear: people open it with https, by a proxy if need be"
            )
        return _without_usual_port(given) if given else None

    @field_validator("oidc_issuer")
    @classmethod
    def _is_a_provider(cls, given: str | None, others: ValidationInfo) -> str | None:
        if given and not others.data.get("base_url"):
            raise ValueError("set CONSOLE_BASE_URL too: it is where the provider sends people back to")
        return require_issuer(given) if given else None

    @field_validator("oidc_client_id", "oidc_client_secret", "oidc_roles")
    @classmethod
    def _goes_with_a_provider(cls, given: object, others: ValidationInfo) -> object:
        if "oidc_issuer" in others.data and (given is None) is bool(others.data["oidc_issuer"]):
            raise ValueError("it is set where CONSOLE_OIDC_ISSUER is, and only there")
        return given

    @field_validator("oidc_scopes")
    @classmethod
    def _asks_who(cls, given: str) -> str:
        return require_scopes(given)

    @field_validator("password_login")
    @classmethod
    def _leaves_a_way_in(cls, given: bool, others: ValidationInfo) -> bool:
        if not given and not others.data.get("oidc_issuer"):
            raise ValueError("nobody could come in: set CONSOLE_OIDC_ISSUER, or leave passwords")
        return given

    @property
    def oidc(self) -> OidcSettings | None:
        """The provider by which people come in too, if there is one."""
        secret = self.oidc_client_secret
        if not (self.oidc_issuer and self.oidc_client_id and secret and self.oidc_roles):
            return None
        words = self.oidc_scopes, self.oidc_roles_claim
        return OidcSettings(
            self.oidc_issuer,
            self.oidc_client_id,
            secret.get_secret_value(),
            *words,
            self.oidc_roles,
        )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return _is_loopback(self.host)

    def is_own_host(self, named: str) -> bool:
        """Whether a browser that asks under this name may be answered.

        Where only this machine comes, only under its own names: another site's name that leads here is a
        trick. Where the address is known every link is made from it, and what a proxy calls us is its own.
        """
        try:
            host = urlsplit(f"//{named}").hostname or ""
        except ValueError:
            return False
        return self.base_url is not None or _is_loopback(host) or host == self.host

    @property
    def is_encrypted(self) -> bool:
        """Whether people reach it by https, so that cookies may ask for that."""
        return (self.base_url or "").startswith("https:")

    @property
    def session(self) -> timedelta:
        """How long somebody stays logged in at most."""
        return timedelta(hours=self.session_hours)

    @property
    def idle(self) -> timedelta:
        """How long without doing anything."""
        return timedelta(minutes=self.idle_minutes)


def _without_usual_port(address: str) -> str:
    """As browsers name it: they leave out the port that a scheme has by itself."""
    parts, usual = urlsplit(address.rstrip("/")), {"http": 80, "https": 443}
    return address.rstrip("/").removesuffix(f":{parts.port}" if parts.port == usual[parts.scheme] else "")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
