"""What we know about each payer: address, version, credentials, time-outs; from a TOML file."""

import hashlib
import ipaddress
import re
import tomllib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from domain.durations import YEARS
from domain.errors import Trouble, plain_words
from gateways.tiss.hours import PostingHours, Zone
from gateways.tiss.names import AnswerHash, Encoding, Version
from gateways.tiss.parties import Login, Provider, ProviderKind

Seconds = Annotated[float, Field(gt=0, le=3600)]
Minutes = Annotated[float, Field(gt=0, le=60 * 24 * 366)]
_MD5 = re.compile(r"[0-9a-fA-F]{32}")


def _in_reach(moment: datetime) -> datetime:
    if moment.year not in YEARS:
        raise ValueError(f"choose a moment of the years {YEARS[0]} to {YEARS[-1]}")
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_in_reach)]


class PayerSettingsError(Trouble):
    """Payer settings that cannot be used: one line with every fault by its name."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Timeouts(_Part):
    """How long we wait, in seconds: for a free connection of ours, then for the payer's parts.

    Some payers answer after two minutes; a job's lock must outlive queue and total. `keep` is how long an
    idle connection may be used again, 0 for a new one each time.
    """

    queue: Seconds = 30
    connect: Seconds = 10
    write: Seconds = 60
    read: Seconds = 180
    total: Seconds = 240
    keep: float = Field(default=2, ge=0, le=60)

    @model_validator(mode="after")
    def _total_is_enough(self) -> Self:
        """TCP and TLS may take the connection's time each; only then does the total count."""
        if self.total < 2 * self.connect + min(self.write, self.read):
            raise ValueError("total must be at least twice connect, plus write or read")
        return self


class MaintenanceWindow(_Part):
    """A planned maintenance: nothing is sent from its start to its end."""

    start: Moment
    end: Moment

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.end <= self.start:
            raise ValueError("end must come after start")
        return self


class BreakerSettings(_Part):
    """When sends to this payer are held, and how they begin again."""

    failures: int = Field(default=5, ge=1)
    unclear_failures: int = Field(default=10, ge=1)
    first_wait_minutes: Minutes = 5
    longest_wait_minutes: Minutes = 60
    longest_hold_minutes: Minutes = 720
    waiting_share: float = Field(default=0.5, ge=0.1, le=1)


class ProviderSettings(_Part):
    """How this payer knows us, where the file's own header shall not decide."""

    kind: ProviderKind
    value: str = Field(min_length=1, max_length=14)


class PayerSettings(_Part):
    """One payer and one channel to it."""

    registro_ans: str = Field(pattern=r"^[0-9]{6}$")
    name: str = ""
    endpoint: str
    status_endpoint: str | None = None
    cancel_endpoint: str | None = None
    plain_http: bool = False
    proxy: str | None = None
    version: Version
    encoding: Encoding = "iso-8859-1"
    hash_encoding: Encoding = "iso-8859-1"
    ascii_text: bool = False
    answer_hash: AnswerHash = "required"
    provider: ProviderSettings | None = None
    login: str | None = Field(default=None, min_length=1, max_length=20)
    password: SecretStr | None = None
    certificate: Path | None = None
    key: Path | None = None
    key_password: SecretStr | None = None
    ca_file: Path | None = None
    timeouts: Timeouts = Timeouts()
    lockout_after: int = Field(default=5, ge=0)
    at_once: int = Field(default=4, ge=1, le=1000, validate_default=True)
    requests_per_minute: int | None = Field(default=None, ge=1)
    zone: Zone = "America/Sao_Paulo"
    hours: PostingHours | None = None
    windows: tuple[MaintenanceWindow, ...] = ()
    breaker: BreakerSettings = BreakerSettings()
    max_answer_bytes: int = Field(default=5_000_000, ge=1_000, le=100_000_000)
    cancel_when_ambiguous: bool = False

    @field_validator("at_once")
    @classmethod
    def _cannot_lock_the_account(cls, at_once: int, others: ValidationInfo) -> int:
        """A password that was changed costs as many bad logins as sends are under way."""
        lockout = others.data.get("lockout_after")
        if others.data.get("login") and lockout and at_once >= lockout:
            raise ValueError(
                f"{at_once} sends at once could lock the login, which {lockout} bad ones do: "
                "choose fewer than lockout_after, or set that as the payer says (0: it never locks)"
            )
        return at_once

    @field_validator("hours")
    @classmethod
    def _in_the_payers_zone(cls, hours: PostingHours | None, others: ValidationInfo) -> PostingHours | None:
        if hours is None or "zone" in hours.model_fields_set or "zone" not in others.data:
            return hours
        return hours.model_copy(update={"zone": others.data["zone"]})

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.login is None) != (self.password is None):
            raise ValueError("login and password_env belong together")
        for url in (self.endpoint, self.status_endpoint, self.cancel_endpoint):
            if url and not _is_safe(url, plain=self.plain_http):
                raise ValueError("endpoints begin with https:// (or set plain_http on a network you trust)")
        return self

    @property
    def account(self) -> Login | None:
        """The login as messages carry it: the password as MD5 hex, which it may be already."""
        if self.login is None or self.password is None:
            return None
        secret = self.password.get_secret_value()
        if _MD5.fullmatch(secret):
            return Login(self.login, secret.lower())
        return Login(self.login, hashlib.md5(secret.encode(), usedforsecurity=False).hexdigest())

    @property
    def own_provider(self) -> Provider | None:
        """The provider set here, if any."""
        return Provider(self.provider.kind, self.provider.value) if self.provider else None


def read_payers(file: Path, environment: Mapping[str, str]) -> dict[str, PayerSettings]:
    """All payers of a file, by registroANS; secrets come from the variables the file names."""
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8")).get("payers", {})
    except OSError as error:
        raise PayerSettingsError(f"Payer settings {file}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PayerSettingsError(f"Payer settings {file} are not TOML: {error}.") from error
    if not isinstance(tables, dict) or not tables:
        raise PayerSettingsError(f"Payer settings {file} name no payer in a table such as [payers.302147].")
    return {key: _payer(key, table, environment) for key, table in tables.items()}


def _payer(key: str, table: object, environment: Mapping[str, str]) -> PayerSettings:
    if not isinstance(table, dict):
        raise PayerSettingsError(f"Payer {key}: give its settings in a table [payers.{key}].")
    try:
        return PayerSettings.model_validate({"registro_ans": key} | _with_secrets(key, table, environment))
    except ValidationError as refused:
        faults = (
            f"{'.'.join(map(str, e['loc'])) or 'settings'}: {plain_words(e['msg'])}" for e in refused.errors()
        )
        raise PayerSettingsError(f"Payer {key}: {'; '.join(faults)}.") from None


def _with_secrets(key: str, table: dict[str, object], environment: Mapping[str, str]) -> dict[str, object]:
    given = dict(table)
    for secret in ("password", "key_password"):
        if secret in given:
            raise PayerSettingsError(f"Payer {key}: keep {secret} out of the file, name it by {secret}_env.")
        if variable := given.pop(f"{secret}_env", None):
            if not environment.get(str(variable)):
                raise PayerSettingsError(f"Payer {key}: the environment variable {variable} is not set.")
            given[secret] = environment[str(variable)]
    return given


def _is_safe(url: str, *, plain: bool) -> bool:
    parts = urlsplit(url)
    if not parts.hostname:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and (plain or _is_loopback(parts.hostname)))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
