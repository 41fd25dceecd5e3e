"""`reenvio` as a person runs it: a process of its own, with an environment of the test's choosing."""

import asyncio
import atexit
import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

PATIENCE_SECONDS = 240
ELSEWHERE = ("ZEEBE_ADDRESS", "REDIS_URL")
READ_AT_START = ("PYTHONIOENCODING", "PYTHONUTF8", "PYTHONHASHSEED", "LANG", "LC_ALL")
"""What Python itself reads once: a command with others of these gets a new interpreter."""


def environment(home: Path, **given: str) -> Mapping[str, str]:
    """This process's environment without others' engine and queue, with a home and an engine of its own."""
    outer = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    return outer | {"REENVIO_HOME": str(home), "ENGINE_HOME": str(home / "engine")} | given


def reenvio(home: Path, *arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    return run_command(environment(home, **given), *arguments)


async def run_reenvio(
    given: Mapping[str, str], *arguments: str, typed: str = "", together: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end, while others go on; a traceback is never what it says."""
    done = await asyncio.to_thread(run_command, given, *arguments, typed=typed, together=together)
    assert "Traceback" not in done.stderr + done.stdout
    return done


def run_command(
    given: Mapping[str, str], *arguments: str, typed: str = "", together: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run one command in exactly this environment; what it writes is kept, apart or in its order."""
    with tempfile.TemporaryFile() as keys, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        keys.write(typed.encode())
        keys.seek(0)
        code = call(given, arguments, (keys.fileno(), out.fileno(), (out if together else err).fileno()))
        return subprocess.CompletedProcess(arguments, code, _text(out), _text(err))


def call(given: Mapping[str, str], arguments: tuple[str, ...], streams: tuple[int, int, int]) -> int:
    """Run one command that reads and writes there; its exit code."""
    if any(given.get(name) != os.environ.get(name) for name in READ_AT_START):
        return _in_new_interpreter(given, arguments, streams)
    words = {"arguments": arguments, "environment": dict(given), "folder": str(Path.cwd())}
    said = json.dumps(words).encode() + b"\n"
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(PATIENCE_SECONDS)
        line.connect(_warm_process())
        sent = socket.send_fds(line, [said], streams)
        line.sendall(said[sent:])
        return int(line.recv(16))


def _in_new_interpreter(
    given: Mapping[str, str], arguments: tuple[str, ...], streams: tuple[int, int, int]
) -> int:
    command = [sys.executable, "-m", "workers.cli", *arguments]
    keys, out, err = streams
    done = subprocess.run(command, env=given, stdin=keys, stdout=out, stderr=err, check=False)
    return done.returncode


def _text(written: IO[bytes]) -> str:
    written.seek(0)
    return written.read().decode()


@functools.cache
def _warm_process() -> str:
    """The address of one that forks for each command (`warm_process`); it ends with this process."""
    address = f"\0reenvio-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        number = listener.fileno()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm_process", str(number)],
            stdin=subprocess.PIPE,
            pass_fds=[number],
        )
    atexit.register(process.communicate)
    return address
