"""Settings, read once from the environment, frozen and handed down."""

from pathlib import Path
from typing import Literal, TypeVar

import platformdirs
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from persistence.database import sqlite_url


class SettingsError(Exception):
    """Settings that cannot be used; the text names each variable and what is wrong with it."""


class Settings(BaseSettings):
    """What every part needs; each field is an environment variable of the same name in capitals."""

    model_config = SettingsConfigDict(frozen=True, env_ignore_empty=True)

    reenvio_home: Path = Field(default_factory=lambda: platformdirs.user_data_path("reenvio"))
    database_url: str | None = None
    payer_script: Path | None = None
    policy_file: Path | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "console"

    @property
    def database(self) -> str:
        """The database's address; an SQLite file in our home when none is set."""
        return self.database_url or sqlite_url(self.reenvio_home / "reenvio.db")


SettingsT = TypeVar("SettingsT", bound=BaseSettings)


def read_settings() -> Settings:
    """Our settings from the environment."""
    return from_environment(Settings)


def from_environment(settings: type[SettingsT]) -> SettingsT:
    """Read settings; all faults are told at once, each by the name of its variable."""
    try:
        return settings()
    except ValidationError as refused:
        prefix = settings.model_config.get("env_prefix", "")
        faults = (f"{_variable(error['loc'], prefix)}: {error['msg']}" for error in refused.errors())
        raise SettingsError("Settings from the environment do not fit. " + "; ".join(faults)) from refused


def _variable(location: tuple[int | str, ...], prefix: str) -> str:
    name = str(location[0])
    return name if name.isupper() else f"{prefix}{name}".upper()  # an alias stands as it is
