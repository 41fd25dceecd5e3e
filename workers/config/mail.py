"""Mail: by which server, from whom, to whom, and by which document's numbers it is sent again."""

import re
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode, SettingsConfigDict

from domain.mail.lanes import MOST_LANES
from domain.mail.retry import DEFAULT_PROFILE, PROFILES
from workers.config.topic import SettingsError, Topic, read_json

_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~\-]{1,64}@[A-Za-z0-9.\-]{1,190}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.\-]{0,251}[A-Za-z0-9_.])?", re.ASCII)
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]{1,2}", re.ASCII)
_CODE = re.compile(r"[45][0-9]{2}|[A-Za-z][A-Za-z_]{0,63}", re.ASCII)
COMPANY_ID = r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,63}$"
NOBODY = "reenvio@localhost"
"""The sender of mail that stays on this machine."""


def is_address(text: str) -> bool:
    """Whether mail can be sent to it: one address, and nothing beside it."""
    return _ADDRESS.fullmatch(text) is not None


def _checked(text: str) -> str:
    if not is_address(text):
        raise ValueError("it must be an e-mail address such as billing@hospital.example")
    return text


def _split(given: object) -> object:
    return tuple(part.strip() for part in given.split(",")) if isinstance(given, str) else given


def _is_profile(text: str) -> str:
    if text not in PROFILES:
        raise ValueError(f"choose one of {', '.join(PROFILES)}")
    return text


def _is_host(text: str) -> str:
    if not (_HOST.fullmatch(text) or _is_ip(text)):
        raise ValueError("it must be a host's name or address alone; the port is MAIL_SMTP_PORT")
    return text


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_region(text: str) -> str:
    if not _REGION.fullmatch(text):
        raise ValueError("it must be a region of AWS such as sa-east-1")
    return text


def _is_one_line(secret: str | SecretStr) -> str | SecretStr:
    """A secret that was written with its line's end is refused by every server, and nobody sees why."""
    text = secret.get_secret_value() if isinstance(secret, SecretStr) else secret
    if not text.isprintable():
        raise ValueError("it holds a line's end or another control character: write the secret without it")
    return secret


def _are_codes(given: dict[str, float]) -> dict[str, float]:
    if odd := sorted(code for code in given if not _CODE.fullmatch(code)):
        raise ValueError(f"{', '.join(odd)[:100]!r} can be no code: write such as 421 or Throttling")
    return given


def _is_web_address(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s\"<>]{1,400}", text):
        raise ValueError("it must begin with http:// or https://")
    return text.rstrip("/")


Address = Annotated[str, AfterValidator(_checked)]
AddressList = Annotated[tuple[Address, ...], NoDecode, BeforeValidator(_split)]


class MailSettings(Topic):
    """How mail leaves; with neither a server nor a region it is written into a folder."""

    model_config = SettingsConfigDict(env_prefix="MAIL_")

    smtp_host: Annotated[str, AfterValidator(_is_host)] | None = None
    smtp_port: int = Field(default=587, ge=1, le=65535)
    smtp_security: Literal["starttls", "tls", "none"] = "starttls"
    smtp_username: Annotated[str, AfterValidator(_is_one_line)] | None = None
    smtp_password: Annotated[SecretStr, AfterValidator(_is_one_line)] | None = None
    smtp_ca_file: Path | None = None
    ses_region: Annotated[str, AfterValidator(_is_region)] | None = None
    ses_endpoint: Annotated[str, AfterValidator(_is_web_address)] | None = None
    sender: Address = Field(default=NOBODY, validation_alias="MAIL_FROM")
    folder: Path | None = None
    to_registration: AddressList = ()
    to_billing_management: AddressList = ()
    to_operations: AddressList = ()
    to_administrator: AddressList = ()
    to_data_analysis: AddressList = ()
    to_quality: AddressList = ()
    to_billing: AddressList = ()
    to_it_management: AddressList = ()
    companies_file: Path | None = None
    company_id: str = Field(default="hospital", pattern=COMPANY_ID)
    language: Literal["pt", "en"] = "pt"
    templates: Path | None = None
    console_url: Annotated[str, AfterValidator(_is_web_address)] | None = Field(
        default=None, validation_alias="CONSOLE_URL"
    )
    retry_profile: Annotated[str, AfterValidator(_is_profile)] = DEFAULT_PROFILE
    timeout_seconds: float = Field(default=20.0, ge=0.1, le=600)
    redrive_after_minutes: Annotated[
        dict[str, Annotated[float, Field(ge=1, le=7 * 24 * 60)]],
        NoDecode,
        BeforeValidator(read_json),
        AfterValidator(_are_codes),
    ] = Field(default={})
    lanes: int = Field(default=64, ge=1, le=MOST_LANES)

    @property
    def leaves(self) -> bool:
        """Whether mail leaves this machine."""
        return self.smtp_host is not None or self.ses_region is not None

    def require_fit(self) -> None:
        """Refuse values that do not go together, all at once: whoever sends mail asks first."""
        if faults := [*self._contradictions(), *self._missing()]:
            raise SettingsError("Mail: " + "; ".join(faults) + " (docs/mail.md).")

    def _contradictions(self) -> Iterator[str]:
        if self.smtp_host and self.ses_region:
            yield "set MAIL_SMTP_HOST or MAIL_SES_REGION, not both"
        given = {"MAIL_SMTP_USERNAME": self.smtp_username, "MAIL_SMTP_CA_FILE": self.smtp_ca_file}
        if self.smtp_host is None and (alone := [name for name, value in given.items() if value]):
            yield f"{alone[0]} is set and MAIL_SMTP_HOST is not: mail would only be written into a folder"
        if self.ses_endpoint and not self.ses_region:
            yield "MAIL_SES_ENDPOINT is set and MAIL_SES_REGION is not: set both, or neither"
        if (self.smtp_username is None) is not (self.smtp_password is None):
            yield "set both MAIL_SMTP_USERNAME and MAIL_SMTP_PASSWORD, or neither"
        if self.smtp_password and self.smtp_security == "none":
            yield "MAIL_SMTP_SECURITY=none would send the password in clear: choose starttls or tls"

    def _missing(self) -> Iterator[str]:
        needed = {
            "MAIL_FROM": self.sender != NOBODY,
            "MAIL_TO_REGISTRATION": self.to_registration,
            "MAIL_TO_BILLING_MANAGEMENT": self.to_billing_management,
            "MAIL_TO_OPERATIONS": self.to_operations,
            "MAIL_TO_ADMINISTRATOR": self.to_administrator,
        }
        if self.leaves:
            yield from (f"{name} is not set" for name, given in needed.items() if not given)
