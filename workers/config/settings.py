"""Settings, read once from the environment, frozen and handed down."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Literal, TypeVar

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import SettingsError as SourceError

from bpmn.names import JobType
from domain.errors import Trouble, plain_words
from persistence.database.engine import sqlite_url
from workers.runtime.handler import JobHandler


class SettingsError(Trouble):
    """Settings that cannot be used; the text names each variable and what is wrong with it."""

    exit_code = 2


class HandlerLimits(BaseModel):
    """How much one job type may take on; what is not given stays as its rule sets it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lock_seconds: float | None = Field(default=None, gt=0)
    time_limit_seconds: float | None = Field(default=None, gt=0)
    at_once: int | None = Field(default=None, ge=1, le=10_000)

    def applied_to(self, handler: JobHandler) -> JobHandler:
        """The handler within these limits; a lock must outlive the handler it protects."""
        lock = _seconds(self.lock_seconds) or handler.lock
        time_limit = _seconds(self.time_limit_seconds) or handler.time_limit
        if time_limit >= lock:
            raise SettingsError(
                f"HANDLER_LIMITS: {handler.type} may run {time_limit.total_seconds():g} s, but its job is "
                f"locked for {lock.total_seconds():g} s only: give it a longer lock_seconds."
            )
        at_once = self.at_once or handler.at_once
        return replace(handler, lock=lock, time_limit=time_limit, at_once=at_once)


def _seconds(number: float | None) -> timedelta | None:
    return None if number is None else timedelta(seconds=number)


class Settings(BaseSettings):
    """What every part needs; each field is an environment variable of the same name in capitals."""

    model_config = SettingsConfigDict(frozen=True, env_ignore_empty=True)

    reenvio_home: Path = Field(default_factory=lambda: platformdirs.user_data_path("reenvio"))
    database_url: str | None = None
    payer_script: Path | None = None
    payers_file: Path | None = None
    payer_trace_dir: Path | None = None
    policy_file: Path | None = None
    handler_limits: dict[JobType, HandlerLimits] = {}
    drain_seconds: float = Field(default=20.0, ge=0)
    health_host: str = "127.0.0.1"
    health_port: int | None = Field(default=None, ge=0, le=65535)
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "console"

    @property
    def database(self) -> str:
        """The database's address; an SQLite file in our home when none is set."""
        return self.database_url or sqlite_url(self.reenvio_home / "reenvio.db")

    @property
    def probes_at(self) -> tuple[str, int] | None:
        """Where the probes listen; None for no probes."""
        return None if self.health_port is None else (self.health_host, self.health_port)


SettingsT = TypeVar("SettingsT", bound=BaseSettings)


def read_settings() -> Settings:
    """Our settings from the environment."""
    return from_environment(Settings)


def from_environment(settings: type[SettingsT]) -> SettingsT:
    """Read settings; all faults are told at once, each by the name of its variable."""
    try:
        return settings()
    except SourceError as refused:  # text that is not even JSON
        raise SettingsError(f"Settings from the environment do not fit. {refused}") from refused
    except ValidationError as refused:
        prefix = settings.model_config.get("env_prefix", "")
        faults = (
            f"{_variable(error['loc'], prefix)}: {plain_words(error['msg'])}" for error in refused.errors()
        )
        raise SettingsError("Settings from the environment do not fit. " + "; ".join(faults)) from refused


def _variable(location: tuple[int | str, ...], prefix: str) -> str:
    name = str(location[0])
    return name if name.isupper() else f"{prefix}{name}".upper()  # an alias stands as it is
