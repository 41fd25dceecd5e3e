"""Settings from the environment: the embedded engine's, and those of a cluster of one's own."""

from pathlib import Path

import platformdirs
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from gateways.zeebe.connection import (
    SAAS_AUDIENCE,
    SAAS_AUTHORIZATION_SERVER,
    OAuth,
    Plaintext,
    Saas,
    Tls,
    ZeebeConnection,
    ZeebeConnectionError,
)
from gateways.zeebe.engine import EngineConfig, FixedPorts
from gateways.zeebe.engine.config import DEFAULT_VERSION
from workers.config.settings import from_environment

_SAAS_SUFFIX = ".zeebe.camunda.io"
_TLS_SCHEMES = ("https", "grpcs")
_SCHEMES = (*_TLS_SCHEMES, "http", "grpc")


def _default_cache() -> Path:
    return platformdirs.user_cache_path("reenvio")


def _default_home() -> Path:
    return platformdirs.user_data_path("reenvio") / "engine"


class EngineSettings(BaseSettings):
    """The embedded engine; an empty variable counts as unset."""

    model_config = SettingsConfigDict(frozen=True, env_ignore_empty=True, env_prefix="ENGINE_")

    version: str = DEFAULT_VERSION
    archive: Path | None = None
    mirror: str | None = Field(default=None, repr=False)
    cache: Path = Field(default_factory=_default_cache)
    home: Path = Field(default_factory=_default_home)
    java_home: Path | None = Field(default=None, validation_alias="JAVA_HOME")
    memory: str = "512m"
    grpc_port: int | None = Field(default=None, ge=1, le=65535)
    rest_port: int | None = Field(default=None, ge=1, le=65535)
    management_port: int | None = Field(default=None, ge=1, le=65535)
    command_port: int | None = Field(default=None, ge=1, le=65535)
    internal_port: int | None = Field(default=None, ge=1, le=65535)

    def config(self) -> EngineConfig:
        """What the engine's own package works with."""
        return EngineConfig(
            home=self.home.expanduser().absolute(),
            cache=self.cache.expanduser().absolute(),
            version=self.version,
            archive=self.archive.expanduser() if self.archive else None,
            mirror=self.mirror,
            java_home=self.java_home,
            memory=self.memory,
            ports=FixedPorts(
                self.grpc_port, self.rest_port, self.management_port, self.command_port, self.internal_port
            ),
        )


class ZeebeSettings(BaseSettings):
    """A cluster of one's own, by the names that Camunda's clients use."""

    model_config = SettingsConfigDict(frozen=True, env_ignore_empty=True)

    zeebe_address: str | None = None
    zeebe_client_id: str | None = None
    zeebe_client_secret: SecretStr | None = None
    zeebe_authorization_server_url: str | None = None
    zeebe_token_audience: str | None = None
    zeebe_token_scope: str | None = None
    zeebe_tls: bool | None = None
    zeebe_ca_certificate_path: Path | None = None
    camunda_cluster_id: str | None = None
    camunda_cluster_region: str = "bru-2"


def read_engine_settings() -> EngineSettings:
    """The embedded engine's settings from the environment."""
    return from_environment(EngineSettings)


def read_zeebe_settings() -> ZeebeSettings:
    """The settings of a cluster of one's own from the environment."""
    return from_environment(ZeebeSettings)


def connection_from(settings: ZeebeSettings) -> ZeebeConnection | None:
    """The connection that the settings describe; None means the embedded engine."""
    if settings.camunda_cluster_id and _is_saas_or_none(settings.zeebe_address):
        return _saas(settings, settings.camunda_cluster_id)
    if settings.zeebe_address:
        host, secure = _split_scheme(settings.zeebe_address)
        return _oauth(settings, host, secure) if _wants_oauth(settings) else _open(settings, host, secure)
    if _wants_oauth(settings):
        raise ZeebeConnectionError(
            "Credentials for a cluster are set, but not which one: set ZEEBE_ADDRESS (self-managed) "
            "or CAMUNDA_CLUSTER_ID (Camunda SaaS), or unset ZEEBE_CLIENT_ID, ZEEBE_CLIENT_SECRET "
            "and ZEEBE_AUTHORIZATION_SERVER_URL to use the embedded engine."
        )
    return None


def _open(settings: ZeebeSettings, host: str, secure: bool | None) -> Plaintext | Tls:
    ca_file = settings.zeebe_ca_certificate_path
    asked = settings.zeebe_tls if settings.zeebe_tls is not None else secure
    if asked is False and ca_file is not None:
        raise ZeebeConnectionError(
            "ZEEBE_CA_CERTIFICATE_PATH is set although TLS is off: unset it, or set ZEEBE_TLS=true."
        )
    return Tls(host, ca_file) if asked or ca_file is not None else Plaintext(host)


def _oauth(settings: ZeebeSettings, host: str, secure: bool | None) -> OAuth:
    if settings.zeebe_tls is False or (settings.zeebe_tls is None and secure is False):
        raise ZeebeConnectionError(
            "Tokens travel over TLS only, but TLS is off: set ZEEBE_TLS=true, or unset ZEEBE_CLIENT_ID "
            "and ZEEBE_CLIENT_SECRET if the gateway asks for no token."
        )
    _require_all(
        ZEEBE_CLIENT_ID=settings.zeebe_client_id,
        ZEEBE_CLIENT_SECRET=settings.zeebe_client_secret,
        ZEEBE_AUTHORIZATION_SERVER_URL=settings.zeebe_authorization_server_url,
    )
    return OAuth(
        address=host,
        client_id=settings.zeebe_client_id or "",
        client_secret=_revealed(settings.zeebe_client_secret),
        authorization_server=settings.zeebe_authorization_server_url or "",
        audience=settings.zeebe_token_audience,
        scope=settings.zeebe_token_scope,
        ca_file=settings.zeebe_ca_certificate_path,
    )


def _saas(settings: ZeebeSettings, cluster_id: str) -> Saas:
    _require_all(ZEEBE_CLIENT_ID=settings.zeebe_client_id, ZEEBE_CLIENT_SECRET=settings.zeebe_client_secret)
    return Saas(
        client_id=settings.zeebe_client_id or "",
        client_secret=_revealed(settings.zeebe_client_secret),
        cluster_id=cluster_id,
        region=settings.camunda_cluster_region,
        authorization_server=settings.zeebe_authorization_server_url or SAAS_AUTHORIZATION_SERVER,
        audience=settings.zeebe_token_audience or SAAS_AUDIENCE,
    )


def _require_all(**values: object | None) -> None:
    missing = [name for name, value in values.items() if value is None]
    if missing:
        raise ZeebeConnectionError(f"The connection to the cluster is incomplete: set {', '.join(missing)}.")


def _wants_oauth(settings: ZeebeSettings) -> bool:
    return bool(
        settings.zeebe_client_id or settings.zeebe_client_secret or settings.zeebe_authorization_server_url
    )


def _is_saas_or_none(address: str | None) -> bool:
    return address is None or _split_scheme(address)[0].partition(":")[0].endswith(_SAAS_SUFFIX)


def _split_scheme(address: str) -> tuple[str, bool | None]:
    """Host and port, and whether a scheme in front asks for TLS (None: no scheme)."""
    scheme, separator, host = address.partition("://")
    if not separator:
        return address, None
    if scheme not in _SCHEMES or not host:
        raise ZeebeConnectionError(
            f"ZEEBE_ADDRESS is {address!r}: write it as host:port or https://host:port."
        )
    return host.rstrip("/"), scheme in _TLS_SCHEMES


def _revealed(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret else ""
