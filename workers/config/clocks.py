"""How far clocks may differ."""

from datetime import timedelta

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from workers.config.topic import Topic


class ClockSettings(Topic):
    """Seconds between clocks: past `warn` the log names them, past `tolerance` maintenance does not run."""

    model_config = SettingsConfigDict(env_prefix="CLOCK_")

    warn_seconds: float = Field(default=5, gt=0, le=86_400)
    tolerance_seconds: float = Field(default=300, gt=0, le=86_400)

    @property
    def warn(self) -> timedelta:
        """The same as a period of time."""
        return timedelta(seconds=self.warn_seconds)

    @property
    def tolerance(self) -> timedelta:
        """The same as a period of time."""
        return timedelta(seconds=self.tolerance_seconds)
