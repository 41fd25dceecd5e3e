"""Ways to reach a Zeebe gateway."""

from dataclasses import dataclass, field
from pathlib import Path

from domain.errors import Trouble

SAAS_AUTHORIZATION_SERVER = "https://login.cloud.camunda.io/oauth/token"
SAAS_AUDIENCE = "zeebe.camunda.io"


class ZeebeConnectionError(Trouble):
    """One line: why no connection can be made from the settings, and what to do."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Plaintext:
    """A gateway without TLS, such as the embedded one."""

    address: str


@dataclass(frozen=True, slots=True)
class Tls:
    """A gateway behind TLS; `ca_file` for a certificate that the system does not know."""

    address: str
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth:
    """A self-managed gateway behind TLS that wants a token."""

    address: str
    client_id: str
    client_secret: str = field(repr=False)
    authorization_server: str
    audience: str | None = None
    scope: str | None = None
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saas:
    """A cluster in Camunda's cloud."""

    client_id: str
    client_secret: str = field(repr=False)
    cluster_id: str
    region: str
    authorization_server: str = SAAS_AUTHORIZATION_SERVER
    audience: str = SAAS_AUDIENCE


ZeebeConnection = Plaintext | Tls | OAuth | Saas
