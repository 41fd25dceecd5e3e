"""Who sends telemetry: the service, its version, and which of its processes."""

import os
import socket
from importlib.metadata import version

from opentelemetry.sdk.resources import (
    SERVICE_INSTANCE_ID,
    SERVICE_NAME,
    SERVICE_VERSION,
    Resource,
)

PACKAGE = "reenvio"


def resource(service_name: str = PACKAGE) -> Resource:
    """What all telemetry of this process carries; OTEL_RESOURCE_ATTRIBUTES may add to it."""
    return Resource.create(
        {
            SERVICE_NAME: service_name,
            SERVICE_VERSION: version(PACKAGE),
            SERVICE_INSTANCE_ID: f"{socket.gethostname()}-{os.getpid()}",
        }
    )
