"""Channels reach a plaintext, a TLS and a token-asking gateway, and repeat no call by themselves."""

import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest
from pyzeebe.proto import gateway_pb2 as pb
from pyzeebe.proto.gateway_pb2_grpc import GatewayServicer, GatewayStub, add_GatewayServicer_to_server

from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import OAuth, Plaintext, Saas, Tls, ZeebeConnection, ZeebeConnectionError

CERTIFICATES = Path(__file__).with_name("certificates")
CERTIFICATE = CERTIFICATES / "localhost.pem"
TOKEN = "a-token"
Context = grpc.aio.ServicerContext[Any, Any]


class Gateway(GatewayServicer):
    """Answers Topology and refuses the first two completions."""

    def __init__(self, required_token: str | None = None) -> None:
        self.required_token = required_token
        self.completions = 0

    async def Topology(self, request: pb.TopologyRequest, context: Context) -> pb.TopologyResponse:  # noqa: N802, ARG002
        metadata = dict(context.invocation_metadata() or ())
        if self.required_token and metadata.get("authorization") != f"Bearer {self.required_token}":
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "no token")
        return pb.TopologyResponse(clusterSize=1)

    async def CompleteJob(  # noqa: N802
        self,
        request: pb.CompleteJobRequest,  # noqa: ARG002
        context: Context,
    ) -> pb.CompleteJobResponse:
        self.completions += 1
        if self.completions < 3:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
        return pb.CompleteJobResponse()


def gateway(required_token: str | None = None) -> Gateway:
    # to the stubs every method is abstract; the real base class answers UNIMPLEMENTED
    return Gateway(required_token)  # type: ignore[abstract]


@asynccontextmanager
async def serving(servicer: Gateway, *, tls: bool = False) -> AsyncIterator[str]:
    server = grpc.aio.server()
    add_GatewayServicer_to_server(servicer, server)
    if tls:
        pair = (CERTIFICATES / "localhost.key").read_bytes(), CERTIFICATE.read_bytes()
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)


def asking(channel: grpc.aio.Channel) -> Any:
    """The gateway's methods; the stub's types know the blocking ones only."""
    return GatewayStub(channel)


async def cluster_size(connection: ZeebeConnection) -> int:
    async with open_channel(connection) as channel:
        answer: pb.TopologyResponse = await asking(channel).Topology(pb.TopologyRequest(), timeout=10)
        return answer.clusterSize


class TokenServer(BaseHTTPRequestHandler):
    """Gives every client the same token, and keeps what it was asked."""

    asked: list[str] = []  # noqa: RUF012

    def do_POST(self) -> None:
        self.asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        body = json.dumps({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 300}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Quiet."""


@pytest.fixture
def token_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    # the token library insists on https, except where a test says otherwise
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), TokenServer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/token"
    server.shutdown()
    thread.join()
    server.server_close()


def oauth(address: str, token_url: str) -> OAuth:
    return OAuth(
        address=address,
        client_id="ana",
        client_secret="hidden",
        authorization_server=token_url,
        audience="zeebe-api",
        ca_file=CERTIFICATE,
    )


async def test_a_plaintext_gateway_is_reached() -> None:
    async with serving(gateway()) as address:
        assert await cluster_size(Plaintext(address)) == 1


async def test_a_tls_gateway_is_reached_with_its_own_ca() -> None:
    async with serving(gateway(), tls=True) as address:
        assert await cluster_size(Tls(address, CERTIFICATE)) == 1


async def test_a_tls_gateway_with_an_unknown_certificate_is_not_trusted() -> None:
    async with serving(gateway(), tls=True) as address:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await cluster_size(Tls(address))
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_gateway_that_asks_for_a_token_gets_one(token_server: str) -> None:
    async with serving(gateway(TOKEN), tls=True) as address:
        assert await cluster_size(oauth(address, token_server)) == 1
    assert "audience=zeebe-api" in TokenServer.asked[-1]
    assert "grant_type=client_credentials" in TokenServer.asked[-1]


async def test_a_gateway_that_asks_for_a_token_refuses_those_without() -> None:
    async with serving(gateway(TOKEN), tls=True) as address:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await cluster_size(Tls(address, CERTIFICATE))
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_the_channel_repeats_no_call_by_itself_because_the_runtime_does() -> None:
    refusing = gateway()
    async with serving(refusing) as address, open_channel(Plaintext(address)) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await asking(channel).CompleteJob(pb.CompleteJobRequest(jobKey=1), timeout=10)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert refusing.completions == 1


async def test_a_saas_channel_goes_to_the_clusters_own_address() -> None:
    saas = Saas(client_id="ana", client_secret="hidden", cluster_id="c1", region="bru-2")
    async with open_channel(saas) as channel:
        made: Any = channel  # gRPC tells the address nowhere else
        assert made._channel.target == b"c1.bru-2.zeebe.camunda.io:443"
        assert channel.get_state() is grpc.ChannelConnectivity.IDLE


def test_secrets_are_not_in_the_repr() -> None:
    saas = Saas(client_id="ana", client_secret="hidden", cluster_id="c1", region="bru-2")
    assert "hidden" not in repr(saas)
    assert "hidden" not in repr(oauth("host:443", "https://login"))


def test_a_ca_certificate_that_cannot_be_read_is_one_line_of_advice(tmp_path: Path) -> None:
    with pytest.raises(ZeebeConnectionError, match="correct ZEEBE_CA_CERTIFICATE_PATH"):
        open_channel(Tls("localhost:443", tmp_path / "missing.pem"))
