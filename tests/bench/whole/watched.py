"""Runs a module and counts what it does: `python watched.py COUNTS PROFILE MODULE [ARGUMENT ...]`.

A script that imports nothing of ours, so that it can watch any revision: the module comes from the folder in
which it is run. COUNTS is a file of numbers that others may read meanwhile, PROFILE one for cProfile, or "-":
SIGUSR1 begins it, the end of the program ends it.
"""

import cProfile
import mmap
import runpy
import signal
import sys
import time
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import Connection, Engine, event

COUNTED = ("commits", "looks", "http_calls")
"""Transactions that may write, those that only read, HTTP requests that were sent."""
WIDTH = 8
READ_ONLY = "reenvio_read_only"
"""The option by which our own code marks a transaction that only reads."""


def main(counts: Path, profile: str, module: str, arguments: list[str]) -> None:
    """Run the module as a program of its own."""
    sys.path[0] = str(Path.cwd())  # not this script's folder
    sys.argv = [module, *arguments]
    profiler = cProfile.Profile(time.thread_time)  # what other programs take is not in it
    if profile != "-":
        signal.signal(signal.SIGUSR1, lambda *_: profiler.enable())
    count(cells(counts))
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        profiler.disable()
        if profile != "-":
            profiler.dump_stats(profile)


def cells(file: Path) -> memoryview:
    """The numbers in a file, which others see change."""
    with file.open("r+b") as opened:
        return memoryview(mmap.mmap(opened.fileno(), 0)).cast("Q")


def blank(file: Path) -> None:
    """Nothing was counted yet; whoever starts the program makes the file."""
    file.write_bytes(bytes(WIDTH * len(COUNTED)))


def read_counts(file: Path) -> dict[str, int]:
    """What was counted so far."""
    return dict(zip(COUNTED, memoryview(file.read_bytes()).cast("Q"), strict=True))


def count(numbers: memoryview) -> None:
    """Count from now on, on every engine and every HTTP transport of this process."""
    commits, looks, calls = range(len(COUNTED))

    @event.listens_for(Engine, "commit")
    def committed(connection: Connection) -> None:
        numbers[looks if connection.get_execution_options().get(READ_ONLY) else commits] += 1

    asked = httpx.AsyncHTTPTransport.handle_async_request

    async def ask(self: httpx.AsyncHTTPTransport, request: httpx.Request) -> Any:
        numbers[calls] += 1
        return await asked(self, request)

    httpx.AsyncHTTPTransport.handle_async_request = ask  # type: ignore[method-assign]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
