"""How large and how late claims may be, and where and from whom they are taken in over HTTP."""

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import SettingsConfigDict

from domain.intake import MAX_FILE_BYTES
from workers.config.topic import SettingsError, Topic

TOKEN_LENGTH = 32


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
        if given is not None and any(len(token) < TOKEN_LENGTH for token in _split(given)):
            raise ValueError(f"each token needs at least {TOKEN_LENGTH} characters (`openssl rand -hex 32`)")
        return given

    @property
    def accepted_tokens(self) -> tuple[str, ...]:
        """Who may use the HTTP interface; without anybody it does not start."""
        if self.tokens is None:
            raise SettingsError(
                "API_TOKENS is not set: give each system that may hand in claims a token of its own "
                f"(at least {TOKEN_LENGTH} characters, separated by commas), or unset API_PORT."
            )
        return _split(self.tokens)


def _split(given: SecretStr) -> tuple[str, ...]:
    return tuple(token.strip() for token in given.get_secret_value().split(","))
