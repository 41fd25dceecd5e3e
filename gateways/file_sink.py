"""The message queue of a machine without servers: an append-only file of JSON lines."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

from gateways.private_folders import private_folder
from gateways.sink import OutgoingEvent, SinkError


class FileSink:
    """Appends events to a file and waits until the disk has them."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def send(self, events: Sequence[OutgoingEvent]) -> None:
        """Append the events, one line each."""
        lines = "".join(_line(event) for event in events)
        await asyncio.to_thread(self._append, lines.encode())

    async def close(self) -> None:
        """Nothing stays open."""

    def _append(self, lines: bytes) -> None:
        try:
            private_folder(self._file.parent)
            with os.fdopen(
                os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab"
            ) as opened:
                opened.write(_end_of_torn_line(self._file) + lines)
                opened.flush()
                os.fsync(opened.fileno())
        except OSError as error:
            raise SinkError(
                f"Events cannot be written to {self._file} ({error.strerror}): make room or mend its rights; "
                "they wait in the outbox meanwhile."
            ) from error


def _line(event: OutgoingEvent) -> str:
    fields: dict[str, object] = dict(event.fields())
    fields["payload"] = json.loads(event.payload)
    return json.dumps(fields, ensure_ascii=False) + "\n"


def _end_of_torn_line(file: Path) -> bytes:
    """A writer that died left half a line: end it, so that it spoils no other."""
    size = file.stat().st_size
    if size == 0:
        return b""
    with file.open("rb") as opened:
        opened.seek(size - 1)
        return b"" if opened.read(1) == b"\n" else b"\n"
