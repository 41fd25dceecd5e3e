"""A gateway that takes messages, forgets none by itself, and can be closed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import grpc
from pyzeebe.proto.gateway_pb2 import (
    DeployResourceRequest,
    DeployResourceResponse,
    ModifyProcessInstanceRequest,
    PublishMessageRequest,
    PublishMessageResponse,
    SetVariablesRequest,
    SetVariablesResponse,
)
from pyzeebe.proto.gateway_pb2_grpc import GatewayServicer, add_GatewayServicer_to_server

HOST = "127.0.0.1"


class MessageBroker(GatewayServicer):
    """Takes each message once while it is kept, as Zeebe does.

    `is_open` False refuses all, `crowded` the next few; while it `hangs` it answers nobody. Without
    `has_instances` nobody's variables are taken.
    """

    def __init__(self) -> None:
        self.taken: list[PublishMessageRequest] = []
        self.kept: set[tuple[str, str, str]] = set()
        self.set: list[SetVariablesRequest] = []
        self.is_open = True
        self.has_instances = True
        self.hangs = False
        self.crowded = 0
        self.deployments = self.slow_deployments = 0
        self.address = ""

    async def PublishMessage(  # noqa: N802
        self, request: PublishMessageRequest, context: Any
    ) -> PublishMessageResponse:
        """Take a message, or say why not."""
        if self.hangs:
            await asyncio.Event().wait()
        if not self.is_open:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "closed")
        if self.crowded > 0:
            self.crowded -= 1
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "crowded")
        key = (request.name, request.correlationKey, request.messageId)
        if key in self.kept:
            await context.abort(grpc.StatusCode.ALREADY_EXISTS, "kept")
        self.taken.append(request)
        if request.timeToLive > 0:
            self.kept.add(key)
        return PublishMessageResponse(key=len(self.taken))

    async def DeployResource(  # noqa: N802
        self, _request: DeployResourceRequest, context: Any
    ) -> DeployResourceResponse:
        """Take models, unless the broker behind it is too slow for the gateway."""
        self.deployments += 1
        if self.deployments <= self.slow_deployments:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "Time out between gateway and broker")
        return DeployResourceResponse(key=self.deployments)

    async def SetVariables(  # noqa: N802
        self, request: SetVariablesRequest, context: Any
    ) -> SetVariablesResponse:
        """Take variables, unless no instance runs here."""
        if not self.has_instances:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no instance {request.elementInstanceKey}")
        self.set.append(request)
        return SetVariablesResponse(key=len(self.set))

    async def ModifyProcessInstance(  # noqa: N802
        self, request: ModifyProcessInstanceRequest, context: Any
    ) -> NoReturn:
        """No process instance runs here."""
        await context.abort(grpc.StatusCode.NOT_FOUND, f"no instance {request.processInstanceKey}")
        raise AssertionError


@asynccontextmanager
async def message_broker() -> AsyncIterator[MessageBroker]:
    """One that listens until the block ends."""
    broker = MessageBroker()  # type: ignore[abstract]  # other calls stay unimplemented, as the base answers them
    server = grpc.aio.server()
    add_GatewayServicer_to_server(broker, server)
    broker.address = f"{HOST}:{server.add_insecure_port(f'{HOST}:0')}"
    await server.start()
    try:
        yield broker
    finally:
        await server.stop(None)
