"""Messages to process instances, as values."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class ProcessMessage:
    """A message for the instance with this correlation key; `keep` is how long it may wait for one.

    While it is kept, the engine takes no other of the same name, key and `message_id`.
    """

    name: str
    key: str
    variables: Mapping[Any, Any]
    keep: timedelta
    message_id: str | None = None


Publish = Callable[[ProcessMessage], Awaitable[bool]]
"""Hands a message to the engine; False when it remembers the same one."""
