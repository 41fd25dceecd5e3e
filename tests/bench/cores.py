"""Cores of the machine: who runs where, and how much of their time a process has used."""

import os
from collections.abc import Sequence
from contextlib import suppress

import psutil

WORKER_CORES, OTHER_CORES = (0,), (1,)


def pin(pid: int, cores: Sequence[int] | None) -> None:
    """Tie a process, its children and all their threads to some cores, where any are named."""
    for process in _family(pid) if cores else ():
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            for thread in process.threads():  # a call for the process would move its first thread alone
                os.sched_setaffinity(thread.id, cores or ())


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its children so far; those that have ended count too."""
    return sum(map(_seconds, _family(pid)))


def _seconds(process: psutil.Process) -> float:
    try:
        return float(sum(process.cpu_times()[:4]))  # user, system, and both of children that have ended
    except psutil.NoSuchProcess:
        return 0.0


def _family(pid: int) -> list[psutil.Process]:
    head = psutil.Process(pid)
    return [head, *head.children(recursive=True)]
