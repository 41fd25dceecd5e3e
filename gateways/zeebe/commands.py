"""Commands to the engine beyond job work: deploy models, publish messages."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import grpc
from pyzeebe import ZeebeClient
from pyzeebe.errors import MessageAlreadyExistsError, PyZeebeError, ZeebeBackPressureError

from domain.errors import Trouble

CROWDED_PAUSES_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)


class CommandRefusedError(Trouble):
    """The engine did not take a command; the text says what to look at."""


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


class ZeebeCommands:
    """Talks to a gateway over an open channel."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._client = ZeebeClient(channel, max_connection_retries=-1)

    async def deploy(self, *models: Path) -> None:
        """Deploy models; equal ones keep their version."""
        try:
            await self._client.deploy_resource(*models)
        except PyZeebeError as error:
            raise CommandRefusedError(f"Deployment refused: {_cause(error)}") from error

    async def publish(self, message: ProcessMessage) -> bool:
        """Publish a message; False when an equal one (by id) is still kept by the engine."""
        publish = partial(
            self._client.publish_message,
            name=message.name,
            correlation_key=message.key,
            variables=dict(message.variables),
            time_to_live_in_milliseconds=round(message.keep.total_seconds() * 1000),
            message_id=message.message_id,
        )
        try:
            await _when_not_crowded(publish)
        except MessageAlreadyExistsError:
            return False
        except PyZeebeError as error:
            raise CommandRefusedError(f"Message {message.name} was not taken: {_cause(error)}") from error
        return True


async def _when_not_crowded(command: Callable[[], Awaitable[object]]) -> None:
    """Ask again for some seconds while the broker has too much to do: it has not taken the command."""
    for pause in CROWDED_PAUSES_SECONDS:
        try:
            await command()
        except ZeebeBackPressureError:
            await asyncio.sleep(pause)
        else:
            return
    await command()


def _cause(error: PyZeebeError) -> str:
    cause = getattr(error, "grpc_error", None) or error.__cause__
    if isinstance(cause, grpc.aio.AioRpcError):
        return f"{cause.code().name}: {cause.details()}"
    return str(error) or type(error).__name__
