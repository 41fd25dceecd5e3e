"""Where telemetry goes: a collector that speaks OTLP, under OpenTelemetry's own names of variables."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import SettingsConfigDict

from workers.config.collector import CollectorSettings, is_address


def _lower(given: object) -> object:
    return given.strip().lower() if isinstance(given, str) else given


class TelemetrySettings(CollectorSettings):
    """Without an address nothing is sent, and nothing is prepared for it."""

    model_config = SettingsConfigDict(env_prefix="OTEL_")

    exporter_otlp_endpoint: Annotated[str, AfterValidator(is_address)] | None = None
    service_name: str = Field(default="reenvio", max_length=64)
    traces_exporter: Literal["otlp", "none"] = "otlp"
    traces_sampler_arg: float = Field(default=1.0, ge=0, le=1)
    sdk_disabled: Annotated[Literal["true", "false"], BeforeValidator(_lower)] = "false"

    @property
    def traces_to(self) -> str | None:
        """Where traces go, if they are wanted."""
        return self.exporter_otlp_endpoint if self.traces_exporter == "otlp" else None
