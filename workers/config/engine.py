"""The embedded engine."""

from pathlib import Path

import platformdirs
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from gateways.zeebe.engine import EngineConfig, FixedPorts, OperateSettings
from gateways.zeebe.engine.config import DEFAULT_VERSION
from workers.config.topic import Topic


def _default_cache() -> Path:
    return platformdirs.user_cache_path("reenvio")


def _default_home() -> Path:
    return platformdirs.user_data_path("reenvio") / "engine"


class EngineSettings(Topic):
    """What is fetched, where it lives and how it runs."""

    model_config = SettingsConfigDict(env_prefix="ENGINE_")

    version: str = DEFAULT_VERSION
    archive: Path | None = None
    mirror: str | None = Field(default=None, repr=False)
    cache: Path = Field(default_factory=_default_cache)
    home: Path = Field(default_factory=_default_home)
    java_home: Path | None = Field(default=None, validation_alias="JAVA_HOME")
    memory: str = "512m"
    operate_memory: str = "1g"
    search_memory: str = "512m"
    search_port: int | None = Field(default=None, ge=1, le=9299)
    grpc_port: int | None = Field(default=None, ge=1, le=65535)
    rest_port: int | None = Field(default=None, ge=1, le=65535)
    management_port: int | None = Field(default=None, ge=1, le=65535)
    command_port: int | None = Field(default=None, ge=1, le=65535)
    internal_port: int | None = Field(default=None, ge=1, le=65535)

    def config(self) -> EngineConfig:
        """What the engine's own package works with."""
        return EngineConfig(
            home=self.home.expanduser().absolute(),
            cache=self.cache.expanduser().absolute(),
            version=self.version,
            archive=self.archive.expanduser() if self.archive else None,
            mirror=self.mirror,
            java_home=self.java_home,
            memory=self.memory,
            ports=FixedPorts(
                self.grpc_port, self.rest_port, self.management_port, self.command_port, self.internal_port
            ),
            operate=OperateSettings(self.operate_memory, self.search_memory, self.search_port),
        )
