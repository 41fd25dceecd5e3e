"""Commands to the engine beyond job work: deploy models, publish messages, move an instance on."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import grpc
from pyzeebe import ZeebeClient
from pyzeebe.errors import MessageAlreadyExistsError, PyZeebeError, ZeebeBackPressureError
from pyzeebe.proto.gateway_pb2 import FailJobRequest, ModifyProcessInstanceRequest, SetVariablesRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from domain.errors import Trouble
from gateways.zeebe.messages import ProcessMessage

ANSWER_SECONDS = 15.0
CROWDED_PAUSES_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)


class CommandRefusedError(Trouble):
    """The engine did not take a command; the text says what to look at."""


class InstanceGoneError(CommandRefusedError):
    """There is no such process instance any more."""


class ElementGoneError(CommandRefusedError):
    """The instance is there, but an element to end or to begin is not."""


_REFUSALS: Mapping[grpc.StatusCode, type[CommandRefusedError]] = {
    grpc.StatusCode.NOT_FOUND: InstanceGoneError,
    grpc.StatusCode.INVALID_ARGUMENT: ElementGoneError,
}


@dataclass(frozen=True, slots=True)
class Modification:
    """Ends one element of a process instance and begins another in its place, in one step.

    An incident of the ended element ends with it. `variables` are the instance's, `own` the new element's.
    """

    instance: int
    ends: int
    begins: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)


class ZeebeCommands:
    """Talks to a gateway over an open channel."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub: Any = GatewayStub(channel)  # the stubs are typed for the blocking channel only
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

    async def runs(self, instance: int) -> bool:
        """Whether the engine still runs a process instance: it takes no variables for one that is gone."""
        request = SetVariablesRequest(elementInstanceKey=instance, variables="{}", local=True)
        try:
            await _when_not_crowded(partial(self._stub.SetVariables, request, timeout=ANSWER_SECONDS))
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                return False
            raise CommandRefusedError(f"The engine does not say: {error.code().name}") from error
        return True

    async def hand_out_again(self, job_key: int, retries: int, why: str) -> bool:
        """Fail a job that somebody has in hand, with these retries; False when nobody has it.

        It may be done with, on an incident, or wait for the end of its backoff: all that is left as it is.
        """
        request = FailJobRequest(jobKey=job_key, retries=retries, errorMessage=why)
        try:
            await _when_not_crowded(partial(self._stub.FailJob, request, timeout=ANSWER_SECONDS))
        except grpc.aio.AioRpcError as error:
            if error.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION):
                return False
            raise CommandRefusedError(f"The engine did not take it: {error.code().name}") from error
        return True

    async def modify(self, modification: Modification) -> None:
        """Move an instance on; the engine answers when it is done."""
        request = _modify_request(modification)
        try:
            await _when_not_crowded(
                partial(self._stub.ModifyProcessInstance, request, timeout=ANSWER_SECONDS)
            )
        except grpc.aio.AioRpcError as error:
            kind = _REFUSALS.get(error.code(), CommandRefusedError)
            raise kind(f"The engine did not take it: {error.code().name}: {error.details()}") from error


def _modify_request(modification: Modification) -> ModifyProcessInstanceRequest:
    kind = ModifyProcessInstanceRequest
    scopes = {"": modification.variables, modification.begins: modification.own}
    variables = [
        kind.VariableInstruction(variables=json.dumps(dict(values)), scopeId=scope)
        for scope, values in scopes.items()
        if values
    ]
    begins = kind.ActivateInstruction(elementId=modification.begins, variableInstructions=variables)
    ends = kind.TerminateInstruction(elementInstanceKey=modification.ends)
    return kind(
        processInstanceKey=modification.instance, activateInstructions=[begins], terminateInstructions=[ends]
    )


async def _when_not_crowded(command: Callable[[], Awaitable[object]]) -> None:
    """Ask again for some seconds while the broker has too much to do: it has not taken the command."""
    for pause in CROWDED_PAUSES_SECONDS:
        try:
            await command()
        except ZeebeBackPressureError:
            await asyncio.sleep(pause)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            await asyncio.sleep(pause)
        else:
            return
    await command()


def _cause(error: PyZeebeError) -> str:
    cause = getattr(error, "grpc_error", None) or error.__cause__
    if isinstance(cause, grpc.aio.AioRpcError):
        return f"{cause.code().name}: {cause.details()}"
    return str(error) or type(error).__name__
