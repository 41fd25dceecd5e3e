"""Settings of the memory: encryption keys, the message queue, how long things are kept."""

from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from domain.retention import LOG_YEARS_AT_LEAST, YEAR, Periods
from gateways.file_sink import FileSink
from gateways.redis import RedisStream, open_stream
from gateways.sink import SinkError
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import open_cipher, reading_cipher
from workers.config.settings import SettingsError, from_environment

EVENTS_FILE = "events.jsonl"


class MemorySettings(BaseSettings):
    """Each field is an environment variable of the same name in capitals."""

    model_config = SettingsConfigDict(frozen=True, env_ignore_empty=True)

    encryption_keys: SecretStr | None = None
    redis_url: SecretStr | None = None
    redis_unsafe: Literal["warn", "refuse"] = "refuse"
    redis_stream_limit: int | None = Field(default=None, ge=1)
    retention_log_years: float = Field(default=LOG_YEARS_AT_LEAST, ge=LOG_YEARS_AT_LEAST)
    retention_history_years: float = Field(default=5, ge=5)
    retention_error_analysis_years: float | None = Field(default=None, gt=0)
    retention_payload_days: float = Field(default=90, gt=0)
    retention_published_days: float = Field(default=30, gt=0)

    def cipher(self, home: Path) -> Cipher:
        """The cipher of the given keys, or of a key file in `home`."""
        keys = self.encryption_keys
        return open_cipher(keys.get_secret_value() if keys else None, home)

    def reading_cipher(self, home: Path) -> Cipher:
        """The same for who only reads: makes no key file."""
        keys = self.encryption_keys
        return reading_cipher(keys.get_secret_value() if keys else None, home)

    def periods(self) -> Periods:
        """How long each kind of data is kept."""
        years = self.retention_error_analysis_years
        return Periods(
            log=self.retention_log_years * YEAR,
            history=self.retention_history_years * YEAR,
            error_analysis=None if years is None else years * YEAR,
            payload=timedelta(days=self.retention_payload_days),
            published=timedelta(days=self.retention_published_days),
        )

    def sink(self, home: Path) -> RedisStream | FileSink:
        """Redis where an address is set, else a file in `home`."""
        if self.redis_url is None:
            return FileSink(home / EVENTS_FILE)
        try:
            return open_stream(self.redis_url.get_secret_value(), keep=self.redis_stream_limit)
        except SinkError as refused:
            raise SettingsError(str(refused)) from refused


def read_memory_settings() -> MemorySettings:
    """The memory's settings from the environment."""
    return from_environment(MemorySettings)
