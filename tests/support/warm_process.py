"""A process that has imported `reenvio` and forks for each command: one of its own, without that second.

`python -m tests.support.warm_process FD` takes calls from a listening socket that it was handed, until its
standard input ends, as it does with whoever started it.
"""

import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import time
from dataclasses import dataclass
from types import ModuleType

import gateways
import persistence
import workers
import workers.cli

STREAMS = 3
LONGEST_CALL = 1 << 20


@dataclass(frozen=True, slots=True)
class Call:
    """One command: its words, its environment, where it runs, and its three streams."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    streams: list[int]


def import_all() -> None:
    """Everything a command may import when it is called, but for what is run by being imported."""
    for package in (workers, gateways, persistence):
        for module in _modules(package):
            importlib.import_module(module)
    for driver in ("aiosqlite", "asyncpg", "sqlalchemy.dialects.sqlite.aiosqlite"):
        importlib.import_module(driver)
    importlib.import_module("sqlalchemy.dialects.postgresql.asyncpg")


def _modules(package: ModuleType) -> list[str]:
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [one.name for one in found if "__main__" not in one.name and "migrations" not in one.name]


def serve(listener: socket.socket) -> Call | None:
    """Fork for each call; returns it in the child, and nothing in the parent when its time is over."""
    ended = _ends_of_children()
    running: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as ready:
        for source in (listener.fileno(), ended, sys.stdin.fileno()):
            ready.register(source, selectors.EVENT_READ)
        while True:
            sources = {key.fd for key, _ in ready.select()}
            if sys.stdin.fileno() in sources:
                return None
            if ended in sources:
                os.read(ended, 4096)
                _tell_ends(running)
            if listener.fileno() in sources and (call := _forked(listener, running)):
                return call


def _ends_of_children() -> int:
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading


def _tell_ends(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with running.pop(pid) as caller:
            caller.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _forked(listener: socket.socket, running: dict[int, socket.socket]) -> Call | None:
    caller, _ = listener.accept()
    said, streams, _, _ = socket.recv_fds(caller, LONGEST_CALL, STREAMS)
    while not said.endswith(b"\n"):
        said += caller.recv(LONGEST_CALL)
    pid = os.fork()
    if pid:
        running[pid] = caller
        for stream in streams:
            os.close(stream)
        return None
    for other in (listener, caller, *running.values()):
        other.close()
    return Call(**json.loads(said), streams=list(streams))


def become(call: Call) -> None:
    """Take the caller's streams, words and environment, as a new process would."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(call.streams):
        os.dup2(stream, number)
        os.close(stream)
    _open_streams()
    os.environ.clear()
    os.environ.update(call.environment)
    time.tzset()
    os.chdir(call.folder)
    sys.argv = ["reenvio", *call.arguments]


def _open_streams() -> None:
    """As the interpreter does at its start: what it knew of the old ones, as whether they seek, is over."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)


def main() -> None:
    """Import, serve, and in a child run the command."""
    import_all()
    gc.collect()
    gc.freeze()
    if call := serve(socket.socket(fileno=int(sys.argv[1]))):
        become(call)
        workers.cli.main()


if __name__ == "__main__":
    main()
