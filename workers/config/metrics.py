"""Whether metrics are counted, and how often gauges are read and all is pushed."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from workers.config.topic import Topic


class MetricSettings(Topic):
    """Seconds between two looks at the database, and between two pushes to a collector."""

    model_config = SettingsConfigDict(env_prefix="METRICS_")

    enabled: bool = True
    refresh_seconds: float = Field(default=15.0, ge=1, le=3_600)
    push_seconds: float = Field(default=60.0, ge=1, le=3_600)
