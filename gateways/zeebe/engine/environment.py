"""The environment of the broker's process: light, on localhost only, with a movable clock."""

from collections.abc import Mapping

from gateways.zeebe.engine.config import EngineConfig
from gateways.zeebe.engine.java import Java
from gateways.zeebe.engine.ports import LOCALHOST, Ports

_INHERITED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR")
_UNSAFE_ACCESS_FLAG_SINCE = 23
_LIGHT = {
    "ZEEBE_CLOCK_CONTROLLED": "true",
    "ZEEBE_BROKER_DATA_DISK_FREESPACE_PROCESSING": "100MB",
    "ZEEBE_BROKER_DATA_DISK_FREESPACE_REPLICATION": "50MB",
    "ZEEBE_BROKER_DATA_LOGSEGMENTSIZE": "16MB",
    "ZEEBE_BROKER_EXPERIMENTAL_ROCKSDB_MEMORYLIMIT": "64MB",
    "ZEEBE_BROKER_CLUSTER_RAFT_FLUSH_ENABLED": "false",
    # with two, one thread may cancel a timer of the other's by an id that is in use again (decision 27)
    "ZEEBE_BROKER_THREADS_CPUTHREADCOUNT": "1",
    "MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE": "*",
    # later lines ask for these; 8.6 does not know them
    "CAMUNDA_DATA_SECONDARYSTORAGE_TYPE": "none",
    "CAMUNDA_SECURITY_AUTHENTICATION_UNPROTECTEDAPI": "true",
}


def broker_environment(
    config: EngineConfig, java: Java, *, ports: Ports, inherited: Mapping[str, str]
) -> dict[str, str]:
    """Everything the broker sees; of our own environment only what any program needs, so no secrets."""
    return {
        **any_program_needs(inherited),
        **_LIGHT,
        **_sockets(ports),
        "JAVACMD": str(java.executable),
        "JAVA_OPTS": " ".join(java_options(config.memory, java)),
        "LOGGING_CONFIG": str(config.log_settings_file),
        "LOG4J_CONFIGURATION_FILE": str(config.log_settings_file),
        "ZEEBE_BROKER_DATA_DIRECTORY": str(config.data_folder.absolute()),
        **config.settings,
    }


def any_program_needs(inherited: Mapping[str, str]) -> dict[str, str]:
    """The part of our own environment that a program which we start may see."""
    return {name: inherited[name] for name in _INHERITED if name in inherited}


def java_options(memory: str, java: Java) -> list[str]:
    """A heap of that size at most, and what a newer Java wants to be told."""
    options = [f"-Xmx{memory}", "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED"]
    if java.major >= _UNSAFE_ACCESS_FLAG_SINCE:
        options.append("--sun-misc-unsafe-memory-access=allow")
    return options


def _sockets(ports: Ports) -> dict[str, str]:
    return {
        "ZEEBE_BROKER_NETWORK_HOST": LOCALHOST,
        "ZEEBE_BROKER_NETWORK_ADVERTISEDHOST": LOCALHOST,
        "ZEEBE_BROKER_NETWORK_COMMANDAPI_PORT": str(ports.command),
        "ZEEBE_BROKER_NETWORK_INTERNALAPI_PORT": str(ports.internal),
        "ZEEBE_BROKER_CLUSTER_INITIALCONTACTPOINTS": f"{LOCALHOST}:{ports.internal}",
        "ZEEBE_BROKER_GATEWAY_NETWORK_HOST": LOCALHOST,
        "ZEEBE_BROKER_GATEWAY_NETWORK_PORT": str(ports.grpc),
        "SERVER_ADDRESS": LOCALHOST,
        "SERVER_PORT": str(ports.rest),
        "MANAGEMENT_SERVER_ADDRESS": LOCALHOST,
        "MANAGEMENT_SERVER_PORT": str(ports.management),
    }
