"""The one channel that is made from a connection."""

from pathlib import Path
from typing import assert_never

import grpc
from pyzeebe import (
    create_camunda_cloud_channel,
    create_insecure_channel,
    create_oauth2_client_credentials_channel,
    create_secure_channel,
)
from pyzeebe.types import ChannelArgumentType

from gateways.zeebe.connection import OAuth, Plaintext, Saas, Tls, ZeebeConnection, ZeebeConnectionError


def open_channel(connection: ZeebeConnection) -> grpc.aio.Channel:
    """A channel that keeps itself alive and finds a gateway again that was away."""
    options = channel_options()
    match connection:
        case Plaintext(address):
            return create_insecure_channel(address, options)
        case Tls(address, ca_file):
            return create_secure_channel(address, options, _tls(ca_file))
        case OAuth():
            return _oauth_channel(connection, options)
        case Saas():
            return _saas_channel(connection, options)
        case _:
            assert_never(connection)


def channel_options() -> ChannelArgumentType:
    """Keepalive that also works on quiet streams; no retries here, the runtime repeats its reports itself."""
    return (
        ("grpc.keepalive_time_ms", 45_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        # what grpcio really heeds when a ping goes unanswered; its default is a minute
        ("grpc.http2.ping_timeout_ms", 10_000),
        # an open stream without jobs is quiet for hours; gRPC would stop pinging after two pings
        ("grpc.http2.max_pings_without_data", 0),
        # a worker that reads no further must be felt at once, so that jobs are pushed elsewhere
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", 16_384),
        # a gateway that comes back is found within seconds, not after gRPC's two minutes
        ("grpc.initial_reconnect_backoff_ms", 200),
        ("grpc.max_reconnect_backoff_ms", 5_000),
    )


def _oauth_channel(connection: OAuth, options: ChannelArgumentType) -> grpc.aio.Channel:
    return create_oauth2_client_credentials_channel(
        grpc_address=connection.address,
        client_id=connection.client_id,
        client_secret=connection.client_secret,
        authorization_server=connection.authorization_server,
        scope=connection.scope,
        audience=connection.audience,
        channel_credentials=_tls(connection.ca_file),
        channel_options=options,
    )


def _saas_channel(connection: Saas, options: ChannelArgumentType) -> grpc.aio.Channel:
    return create_camunda_cloud_channel(
        client_id=connection.client_id,
        client_secret=connection.client_secret,
        cluster_id=connection.cluster_id,
        region=connection.region,
        authorization_server=connection.authorization_server,
        audience=connection.audience,
        channel_options=options,
    )


def _tls(ca_file: Path | None) -> grpc.ChannelCredentials:
    if ca_file is None:
        return grpc.ssl_channel_credentials()
    try:
        return grpc.ssl_channel_credentials(root_certificates=ca_file.read_bytes())
    except OSError as error:
        raise ZeebeConnectionError(
            f"The CA certificate {ca_file} cannot be read ({error.strerror}): "
            "correct ZEEBE_CA_CERTIFICATE_PATH."
        ) from error
