"""The settings: read once from the environment, frozen, nested by topic and handed down."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import NoDecode, SettingsConfigDict

from bpmn.names import JobType
from domain.errors import plain_words
from persistence.database.addresses import sqlite_url
from workers.config.clocks import ClockSettings
from workers.config.cluster import ClusterSettings
from workers.config.console import ConsoleSettings
from workers.config.engine import EngineSettings
from workers.config.events import EventSettings
from workers.config.fairness import FairnessSettings
from workers.config.idempotency import IdempotencySettings
from workers.config.intake import ApiSettings, IntakeSettings
from workers.config.mail import MailSettings
from workers.config.metrics import MetricSettings
from workers.config.retention import RetentionSettings
from workers.config.telemetry import TelemetrySettings
from workers.config.topic import Environment, Topic, read_json
from workers.config.topic import SettingsError as SettingsError

A_DAY = 86_400.0


class HandlerLimits(BaseModel):
    """How much one job type may take on; what is not given stays as its rule sets it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lock_seconds: float | None = Field(default=None, gt=0, le=A_DAY)
    time_limit_seconds: float | None = Field(default=None, gt=0, le=A_DAY)
    at_once: int | None = Field(default=None, ge=1, le=10_000)


class LogSettings(Topic):
    """What is logged, and how it looks."""

    model_config = SettingsConfigDict(env_prefix="LOG_")

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["json", "console"] = "console"


class ProbeSettings(Topic):
    """Where the probes listen; without a port there are none."""

    model_config = SettingsConfigDict(env_prefix="HEALTH_")

    host: str = "127.0.0.1"
    port: int | None = Field(default=None, ge=0, le=65535)


class PayerFiles(Topic):
    """Who the payers are, or that one for practice is wanted, and where exchanges are traced."""

    file: Path | None = Field(default=None, validation_alias="PAYERS_FILE")
    script: Path | None = Field(default=None, validation_alias="PAYER_SCRIPT")
    practice: bool = Field(default=False, validation_alias="PRACTICE_PAYER")
    trace_dir: Path | None = Field(default=None, validation_alias="PAYER_TRACE_DIR")

    @property
    def practises(self) -> bool:
        """Whether the practice payer was asked for."""
        return self.practice or self.script is not None


LimitsByType = Annotated[dict[JobType, HandlerLimits], NoDecode, BeforeValidator(read_json)]


class GeneralSettings(Topic):
    """What belongs to no topic."""

    home: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("reenvio"), validation_alias="REENVIO_HOME"
    )
    database_url: str | None = Field(default=None, repr=False)
    encryption_keys: SecretStr | None = None
    operator: str | None = Field(default=None, validation_alias="REENVIO_OPERATOR", max_length=120)
    policy_file: Path | None = None
    handler_limits: LimitsByType = Field(default={})
    drain_seconds: float = Field(default=20.0, ge=0, le=A_DAY)


class Settings(GeneralSettings):
    """Everything that can be set; `environment` is where PAYERS_FILE finds the secrets that it names."""

    logs: LogSettings = LogSettings()
    probes: ProbeSettings = ProbeSettings()
    payers: PayerFiles = PayerFiles()
    intake: IntakeSettings = IntakeSettings()
    api: ApiSettings = ApiSettings()
    console: ConsoleSettings = ConsoleSettings()
    events: EventSettings = EventSettings()
    fairness: FairnessSettings = FairnessSettings()
    mail: MailSettings = MailSettings()
    retention: RetentionSettings = RetentionSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    metrics: MetricSettings = MetricSettings()
    clocks: ClockSettings = ClockSettings()
    idempotency: IdempotencySettings = IdempotencySettings()
    engine: EngineSettings = Field(default_factory=EngineSettings)
    cluster: ClusterSettings = ClusterSettings()
    environment: Mapping[str, str] = Field(default={}, repr=False, exclude=True)

    @property
    def database(self) -> str:
        """The database's address; an SQLite file in our home when none is set."""
        return self.database_url or sqlite_url(self.home / "reenvio.db")


TOPICS: Mapping[str, type[Topic]] = {
    name: field.annotation
    for name, field in Settings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Topic)
}


def read_settings() -> Settings:
    """The settings from the environment; all faults are reported at once, each by its variable's name."""
    topics = {name: Environment(topic)() for name, topic in TOPICS.items()}
    return _checked(Environment(GeneralSettings)() | topics | {"environment": dict(os.environ)})


def read_general_settings() -> Settings:
    """What belongs to no topic alone: a decision is explained whatever else is set wrong."""
    return _checked(Environment(GeneralSettings)())


def read_engine_settings() -> EngineSettings:
    """The embedded engine's alone: it is stopped whatever else is set wrong."""
    return _checked({"engine": Environment(EngineSettings)()}).engine


def read_idempotency_settings() -> IdempotencySettings:
    """The operations' alone: a policy is compared with them whatever else is set."""
    return _checked({"idempotency": Environment(IdempotencySettings)()}).idempotency


def _checked(given: Mapping[str, object]) -> Settings:
    try:
        return Settings.model_validate(given)
    except ValidationError as refused:
        faults = (f"{_variable(error['loc'])}: {plain_words(error['msg'])}" for error in refused.errors())
        raise SettingsError("Settings from the environment do not fit. " + "; ".join(faults)) from refused


def _variable(location: tuple[int | str, ...]) -> str:
    first, *rest = map(str, location)
    topic, name = (TOPICS[first], rest[0]) if first in TOPICS else (GeneralSettings, first)
    prefix = topic.model_config.get("env_prefix", "")
    return name if name.isupper() else f"{prefix}{name}".upper()  # an alias stands as it is
