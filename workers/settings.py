"""Settings, read once from the environment, frozen and handed down."""

from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from persistence.database import sqlite_url


class SettingsError(Exception):
    """Settings that cannot be used; the text names each variable and what is wrong with it."""


class Settings(BaseSettings):
    """What every part needs; each field is an environment variable of the same name in capitals."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

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


def read_settings() -> Settings:
    """The settings from the environment; all faults are told at once."""
    try:
        return Settings()
    except ValidationError as refused:
        raise SettingsError(describe(refused)) from refused


def describe(refused: ValidationError) -> str:
    """One line that names each environment variable at fault."""
    faults = (
        f"{'.'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in refused.errors(include_input=False)
    )
    return "Settings from the environment do not fit: " + "; ".join(faults)
