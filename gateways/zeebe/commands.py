"""Commands to the engine beyond job work: deploy models, publish messages."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
from pyzeebe import ZeebeClient
from pyzeebe.errors import MessageAlreadyExistsError, PyZeebeError

from domain.errors import Trouble


class CommandRefusedError(Trouble):
    """The engine did not take a command; the text says what to look at."""


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

    async def publish(
        self,
        message: str,
        key: str,
        variables: Mapping[Any, Any],
        *,
        keep: timedelta,
        message_id: str | None = None,
    ) -> bool:
        """Publish a message; False when an equal one (by id) is still kept by the engine."""
        try:
            await self._client.publish_message(
                name=message,
                correlation_key=key,
                variables=dict(variables),
                time_to_live_in_milliseconds=round(keep.total_seconds() * 1000),
                message_id=message_id,
            )
        except MessageAlreadyExistsError:
            return False
        except PyZeebeError as error:
            raise CommandRefusedError(f"Message {message} was not taken: {_cause(error)}") from error
        return True


def _cause(error: PyZeebeError) -> str:
    cause = getattr(error, "grpc_error", None) or error.__cause__
    if isinstance(cause, grpc.aio.AioRpcError):
        return f"{cause.code().name}: {cause.details()}"
    return str(error) or type(error).__name__
