"""The broker as a process of the operating system: born in its own session, ended politely, then firmly."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

import psutil


def spawn(command: list[str], *, environment: Mapping[str, str], log_file: Path) -> psutil.Process:
    """Start the command detached from our terminal, so that Ctrl-C there does not reach it."""
    log_flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        command[0],
        command,
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log_file), log_flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    return psutil.Process(pid)


def has_ended(process: psutil.Process) -> bool:
    """Whether the process is gone, or only its entry is left."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


def listens_on(process: psutil.Process, ports: Collection[int]) -> bool:
    """Whether it is this process, and no other, that has the ports open."""
    return listening_ports(process).issuperset(ports)


def listening_ports(process: psutil.Process) -> set[int]:
    """The ports that the process has open; none when the system does not tell."""
    try:
        sockets = process.net_connections("tcp")
    except psutil.Error:
        return set()
    return {s.laddr.port for s in sockets if s.status == psutil.CONN_LISTEN}


def exit_code(process: psutil.Process) -> int | None:
    """How an ended child of ours ended; None when nobody can tell any more."""
    try:
        return process.wait(timeout=1)
    except psutil.Error:
        return None


def terminate(process: psutil.Process, patience: float) -> None:
    """Ask the process to end, and end it when it does not."""
    try:
        process.terminate()
        process.wait(timeout=patience)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(timeout=patience)
    except psutil.NoSuchProcess:
        return
