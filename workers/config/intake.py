"""Settings of the intake: how large, how soon, and where the HTTP interface listens."""

from datetime import timedelta, tzinfo

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from domain.intake import IntakeTerms
from gateways.tiss.lote import MAX_FILE_BYTES
from workers.config.settings import SettingsError, from_environment

TOKEN_LENGTH = 32


class IntakeSettings(BaseSettings):
    """Each field is an environment variable of the same name in capitals."""

    model_config = SettingsConfigDict(frozen=True, env_ignore_empty=True)

    claim_deadline_hours: float = Field(default=48, gt=0, le=24 * 366)
    claim_max_bytes: int = Field(default=10_000_000, ge=1_000, le=MAX_FILE_BYTES)
    api_host: str = "127.0.0.1"
    api_port: int | None = Field(default=None, ge=0, le=65535)
    api_tokens: SecretStr | None = None

    @field_validator("api_tokens")
    @classmethod
    def _tokens_are_long(cls, given: SecretStr | None) -> SecretStr | None:
        if given is not None and any(len(token) < TOKEN_LENGTH for token in _split(given)):
            raise ValueError(f"each token needs at least {TOKEN_LENGTH} characters (`openssl rand -hex 32`)")
        return given

    def terms(self, zone: tzinfo) -> IntakeTerms:
        """What files and deadlines are held to."""
        return IntakeTerms(self.claim_max_bytes, timedelta(hours=self.claim_deadline_hours), zone)

    @property
    def tokens(self) -> tuple[str, ...]:
        """Who may use the HTTP interface; without anybody it does not start."""
        if self.api_tokens is None:
            raise SettingsError(
                "API_TOKENS is not set: give each system that may hand in claims a token of its own "
                f"(at least {TOKEN_LENGTH} characters, separated by commas), or unset API_PORT."
            )
        return _split(self.api_tokens)


def read_intake_settings() -> IntakeSettings:
    """The intake's settings from the environment."""
    return from_environment(IntakeSettings)


def _split(given: SecretStr) -> tuple[str, ...]:
    return tuple(token.strip() for token in given.get_secret_value().split(","))
