"""Free local ports for the broker, and who holds the ones that are not free."""

import socket
from collections.abc import Collection
from dataclasses import dataclass

import psutil

from gateways.zeebe.engine.config import FixedPorts
from gateways.zeebe.engine.errors import EngineError

LOCALHOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """The five sockets of one broker, all on localhost."""

    grpc: int
    rest: int
    management: int
    command: int
    internal: int


PREFERRED = Ports(grpc=26500, rest=8080, management=9600, command=26501, internal=26502)


def choose_ports(fixed: FixedPorts, preferred: Ports | None = PREFERRED) -> Ports:
    """The ports asked for, else the preferred ones, else any free ones; never one twice."""
    taken: set[int] = {port for port in _asked_for(fixed).values() if port is not None}
    chosen = {name: _choose(name, port, preferred, taken) for name, port in _asked_for(fixed).items()}
    return Ports(**chosen)


def is_free(port: int) -> bool:
    """Whether a broker could listen on the port now."""
    with socket.socket() as probe:
        # as the broker does, so that connections that linger after a stop do not count
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOCALHOST, port))
        except OSError:
            return False
        return True


def holder_of(port: int) -> str:
    """The process that listens on the port, in words."""
    try:
        listeners = [c for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        pid = next((c.pid for c in listeners if c.laddr and c.laddr.port == port), None)
        return f"{psutil.Process(pid).name()} (process {pid})" if pid else "another user's process"
    except psutil.Error:
        return "another process"


def _asked_for(fixed: FixedPorts) -> dict[str, int | None]:
    return {
        "grpc": fixed.grpc,
        "rest": fixed.rest,
        "management": fixed.management,
        "command": fixed.command,
        "internal": fixed.internal,
    }


def _choose(name: str, asked: int | None, preferred: Ports | None, taken: set[int]) -> int:
    if asked is not None:
        return insist(asked, f"ENGINE_{name.upper()}_PORT")
    wish: int | None = getattr(preferred, name, None)
    port = wish if wish is not None and wish not in taken and is_free(wish) else any_free(taken)
    taken.add(port)
    return port


def insist(port: int, setting: str) -> int:
    """The port that a setting asks for, if it is free."""
    if not is_free(port):
        raise EngineError(
            f"Port {port} is held by {holder_of(port)}: stop it, choose another {setting}, or unset that to "
            "take any free port."
        )
    return port


def any_free(taken: Collection[int]) -> int:
    """A port that nobody holds now, and none of those."""
    while True:
        with socket.socket() as probe:
            probe.bind((LOCALHOST, 0))
            port: int = probe.getsockname()[1]
        if port not in taken:
            return port
