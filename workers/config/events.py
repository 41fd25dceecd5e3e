"""Where events go: a Redis, and what is asked of it."""

from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from workers.config.topic import Topic


class EventSettings(Topic):
    """Without an address events go to a file."""

    model_config = SettingsConfigDict(env_prefix="REDIS_")

    url: SecretStr | None = None
    unsafe: Literal["warn", "refuse"] = "refuse"
    stream_limit: int | None = Field(default=None, ge=1)
