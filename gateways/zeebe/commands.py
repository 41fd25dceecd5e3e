"""Commands to the engine beyond job work: deploy models, publish messages, move an instance on."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import grpc
from pyzeebe import ZeebeClient
from pyzeebe.errors import (
    MessageAlreadyExistsError,
    PyZeebeError,
    ZeebeBackPressureError,
    ZeebeDeadlineExceeded,
)
from pyzeebe.proto.gateway_pb2 import (
    FailJobRequest,
    ModifyProcessInstanceRequest,
    PublishMessageRequest,
    SetVariablesRequest,
)
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from gateways.zeebe.messages import ProcessMessage
from gateways.zeebe.refusals import (
    CommandRefusedError,
    ElementGoneError,
    InstanceGoneError,
    NoAnswerError,
)

ANSWER_SECONDS = 15.0
UNANSWERED_AT_MOST = 3
PARTITION_BITS = 51
"""A key is its partition's number, followed by so many bits that count up."""
PARTITIONS_TRIED = 32
"""Correlation keys that count up reach one partition after the other."""
NOBODY_WAITS = "reenvio-keys"
CROWDED_PAUSES_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)


_REFUSALS: Mapping[grpc.StatusCode, type[CommandRefusedError]] = {
    grpc.StatusCode.NOT_FOUND: InstanceGoneError,
    grpc.StatusCode.INVALID_ARGUMENT: ElementGoneError,
    grpc.StatusCode.DEADLINE_EXCEEDED: NoAnswerError,
}


class HandOut(Enum):
    """What came of asking for a job to be handed out again.

    One that RESTS has failed: it waits for the end of its backoff, or stands on its worker's incident. One
    that is GONE was done with, or threw an error that nobody caught.
    """

    DONE = "done"
    RESTS = "rests"
    GONE = "gone"


_NOT_IN_HAND = frozenset({grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION})
_HAS_FAILED = "in state 'FAILED'"  # the engine's words since 8.5; its status alone does not tell


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

    def __init__(self, channel: grpc.aio.Channel, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._answer_seconds = answer_seconds
        self._stub: Any = GatewayStub(channel)  # the stubs are typed for the blocking channel only
        self._client = ZeebeClient(channel, max_connection_retries=-1)

    async def deploy(self, *models: Path) -> None:
        """Deploy models; equal ones keep their version, so where no answer came they are deployed again."""
        deploy = partial(self._client.deploy_resource, *models)
        try:
            await _until_answered(partial(_when_not_crowded, deploy))
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
            await _when_not_crowded(partial(self._answered, publish))
        except MessageAlreadyExistsError:
            return False
        except TimeoutError as error:
            raise NoAnswerError(
                f"Message {message.name}: no answer within {self._answer_seconds:g} s, so it may have been "
                "taken or not. See that the engine runs and is not overloaded."
            ) from error
        except PyZeebeError as error:
            raise CommandRefusedError(f"Message {message.name} was not taken: {_cause(error)}") from error
        return True

    async def _answered(self, command: Callable[[], Awaitable[object]]) -> None:
        async with asyncio.timeout(self._answer_seconds):
            await command()

    async def runs(self, instance: int) -> bool:
        """Whether the engine still runs a process instance: it takes no variables for one that is gone."""
        request = SetVariablesRequest(elementInstanceKey=instance, variables="{}", local=True)
        try:
            await _when_not_crowded(partial(self._stub.SetVariables, request, timeout=self._answer_seconds))
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                return False
            raise CommandRefusedError(f"The engine does not say: {error.code().name}") from error
        return True

    async def was_ended(self, instance: int) -> bool:
        """Whether a process instance is gone though the engine that ran it is still there.

        An engine's keys only grow, in each partition by themselves: one that has lost its data, or another,
        gives smaller ones than the instance's. One that was set up from a backup is not told apart.
        """
        return not await self.runs(instance) and await self._new_key(instance >> PARTITION_BITS) > instance

    async def _new_key(self, partition: int) -> int:
        """A key that the engine gives out now, for a message that nobody waits for; 0 if it cannot be had."""
        for number in range(PARTITIONS_TRIED):
            request = PublishMessageRequest(name=NOBODY_WAITS, correlationKey=str(number), variables="{}")
            key = await self._published_key(request)
            if key >> PARTITION_BITS == partition:
                return key
        return 0

    async def _published_key(self, request: PublishMessageRequest) -> int:
        try:
            answer = await self._stub.PublishMessage(request, timeout=self._answer_seconds)
        except grpc.aio.AioRpcError as error:
            raise CommandRefusedError(f"The engine does not say: {error.code().name}") from error
        return int(answer.key)

    async def set_variables(self, instance: int, variables: Mapping[str, Any]) -> None:
        """Give a process instance other values of its own variables; the engine answers when it has them."""
        request = SetVariablesRequest(
            elementInstanceKey=instance, variables=json.dumps(dict(variables)), local=True
        )
        try:
            await _when_not_crowded(partial(self._stub.SetVariables, request, timeout=self._answer_seconds))
        except grpc.aio.AioRpcError as error:
            kind = _REFUSALS.get(error.code(), CommandRefusedError)
            raise kind(f"The engine did not take it: {error.code().name}: {error.details()}") from error

    async def hand_out_again(self, job_key: int, retries: int, why: str) -> HandOut:
        """Fail a job that somebody has in hand, with these retries; any other is left as it is."""
        request = FailJobRequest(jobKey=job_key, retries=retries, errorMessage=why)
        try:
            await _when_not_crowded(partial(self._stub.FailJob, request, timeout=self._answer_seconds))
        except grpc.aio.AioRpcError as error:
            if error.code() in _NOT_IN_HAND:
                return HandOut.RESTS if _HAS_FAILED in (error.details() or "") else HandOut.GONE
            raise CommandRefusedError(f"The engine did not take it: {error.code().name}") from error
        return HandOut.DONE

    async def modify(self, modification: Modification) -> None:
        """Move an instance on; the engine answers when it is done."""
        request = _modify_request(modification)
        try:
            await _when_not_crowded(
                partial(self._stub.ModifyProcessInstance, request, timeout=self._answer_seconds)
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


async def _until_answered(command: Callable[[], Awaitable[object]]) -> None:
    """Ask again a few times where a broker that has just started was too slow to answer its gateway."""
    for _ in range(UNANSWERED_AT_MOST):
        with suppress(ZeebeDeadlineExceeded):
            await command()
            return
    await command()


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
