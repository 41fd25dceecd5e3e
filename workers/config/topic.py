"""What the topics of the settings are made of, and how the environment is read for one."""

import json

from pydantic import field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from domain.errors import Trouble


class SettingsError(Trouble):
    """Settings that cannot be used; the text names each variable and what is wrong with it."""

    exit_code = 2


class Topic(BaseSettings):
    """Frozen values, each named as its environment variable after the topic's prefix.

    Building one reads nothing: only `read_settings` looks into the environment.
    """

    model_config = SettingsConfigDict(frozen=True, populate_by_name=True, hide_input_in_errors=True)

    @field_validator("*", mode="before")
    @classmethod
    def _is_not_empty(cls, given: object) -> object:
        if isinstance(given, str) and not given.strip():
            raise ValueError("it is set, but empty: unset it, or give it a value")
        return given

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  # the signature is pydantic's
        init_settings: PydanticBaseSettingsSource,
        *_unread: PydanticBaseSettingsSource,
        **_unread_by_name: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What is given counts, and nothing else."""
        return (init_settings,)


def read_json(given: object) -> object:
    """JSON of one variable; text that is no JSON is reported with all other faults."""
    try:
        read = json.loads(given) if isinstance(given, str) else given
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return {} if read is None else read


class Environment(EnvSettingsSource):
    """A topic's values in the environment: a field with an alias has that variable and no second one."""

    def __init__(self, topic: type[Topic]) -> None:
        super().__init__(topic)
        self.config = self.config | {"populate_by_name": False, "validate_by_name": False}
