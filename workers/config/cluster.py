"""A cluster of one's own, by the names that Camunda's clients use, and the connection that they describe."""

import re
from pathlib import Path

from pydantic import SecretStr

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
from workers.config.topic import Topic

_SAAS_SUFFIX = ".zeebe.camunda.io"
_TLS_SCHEMES = ("https", "grpcs")
_SCHEMES = (*_TLS_SCHEMES, "http", "grpc")


class ClusterSettings(Topic):
    """All unset means the embedded engine."""

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


def connection_from(settings: ClusterSettings) -> ZeebeConnection | None:
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


def _open(settings: ClusterSettings, host: str, secure: bool | None) -> Plaintext | Tls:
    ca_file = settings.zeebe_ca_certificate_path
    asked = settings.zeebe_tls if settings.zeebe_tls is not None else secure
    if asked is False and ca_file is not None:
        raise ZeebeConnectionError(
            "ZEEBE_CA_CERTIFICATE_PATH is set although TLS is off: unset it, or set ZEEBE_TLS=true."
        )
    return Tls(host, ca_file) if asked or ca_file is not None else Plaintext(host)


def _oauth(settings: ClusterSettings, host: str, secure: bool | None) -> OAuth:
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


def _saas(settings: ClusterSettings, cluster_id: str) -> Saas:
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


def _wants_oauth(settings: ClusterSettings) -> bool:
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
            f"ZEEBE_ADDRESS is {_without_login(address)!r}: write it as host:port or https://host:port."
        )
    return host.rstrip("/"), scheme in _TLS_SCHEMES


def _without_login(address: str) -> str:
    return re.sub(r"://.*@", "://", address)


def _revealed(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret else ""
