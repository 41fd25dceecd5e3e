"""Mail: by which server, from whom, to whom, and by which document's numbers it is sent again."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode, SettingsConfigDict

from domain.mail.lanes import MOST_LANES
from domain.mail.retry import DEFAULT_PROFILE, PROFILES
from workers.config.topic import SettingsError, Topic, read_json

_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~\-]{1,64}@[A-Za-z0-9.\-]{1,190}", re.ASCII)
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


def _is_web_address(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s\"<>]{1,400}", text):
        raise ValueError("it must begin with http:// or https://")
    return text.rstrip("/")


Address = Annotated[str, AfterValidator(_checked)]
AddressList = Annotated[tuple[Address, ...], NoDecode, BeforeValidator(_split)]


class MailSettings(Topic):
    """How mail leaves; with neither a server nor a region it is written into a folder."""

    model_config = SettingsConfigDict(env_prefix="MAIL_")

    smtp_host: str | None = None
    smtp_port: int = Field(default=587, ge=1, le=65535)
    smtp_security: Literal["starttls", "tls", "none"] = "starttls"
    smtp_username: str | None = None
    smtp_password: SecretStr | None = None
    smtp_ca_file: Path | None = None
    ses_region: str | None = None
    ses_endpoint: str | None = None
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
        dict[str, Annotated[float, Field(ge=1, le=7 * 24 * 60)]], NoDecode, BeforeValidator(read_json)
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
