"""How long an operation's record is kept (RN-IdempotencyRecord)."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import NoDecode, SettingsConfigDict

from workers.config.topic import Topic, read_json

TTL_HOURS_AT_LEAST = 1
TTL_HOURS_AT_MOST = 24 * 366


class OperationName(StrEnum):
    """The operations that run once per business key."""

    SUBMIT_CLAIM = "submit_claim"


def _in_range(hours: float) -> float:
    if not TTL_HOURS_AT_LEAST <= hours <= TTL_HOURS_AT_MOST:
        raise ValueError(
            "an operation's record (RN-IdempotencyRecord) is kept "
            f"{TTL_HOURS_AT_LEAST} to {TTL_HOURS_AT_MOST} hours: choose such a number, for example 24"
        )
    return hours


Hours = Annotated[float, AfterValidator(_in_range)]
HoursByOperation = Annotated[dict[OperationName, Hours], NoDecode, BeforeValidator(read_json)]


class IdempotencySettings(Topic):
    """Hours for all operations, and for one by its name; a record keeps what was set when it began."""

    model_config = SettingsConfigDict(env_prefix="IDEMPOTENCY_")

    ttl_hours: Hours = 24
    ttl_hours_by_operation: HoursByOperation = Field(default={})

    def hours(self, operation: OperationName) -> float:
        """How many hours that operation's record is kept."""
        return self.ttl_hours_by_operation.get(operation, self.ttl_hours)

    def ttl(self, operation: OperationName) -> timedelta:
        """The same as a period of time."""
        return timedelta(hours=self.hours(operation))
