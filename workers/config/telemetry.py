"""Where telemetry goes: a collector that speaks OTLP, under OpenTelemetry's own names of variables."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_settings import SettingsConfigDict

from workers.config.topic import Topic


def _is_address(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise ValueError("it must begin with http:// or https://, such as http://localhost:4317")
    return text


class TelemetrySettings(Topic):
    """Without an address nothing is sent, and nothing is prepared for it."""

    model_config = SettingsConfigDict(env_prefix="OTEL_")

    exporter_otlp_endpoint: Annotated[str, AfterValidator(_is_address)] | None = None
    service_name: str = Field(default="reenvio", max_length=64)
    traces_exporter: Literal["otlp", "none"] = "otlp"
    traces_sampler_arg: float = Field(default=1.0, ge=0, le=1)

    @property
    def traces_to(self) -> str | None:
        """Where traces go, if they are wanted."""
        return self.exporter_otlp_endpoint if self.traces_exporter == "otlp" else None
