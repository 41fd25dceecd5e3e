"""What the engine's tests share: a notebook reporter, small archives, a Maven repository."""

import hashlib
import io
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

UNPINNED = "1.2.3"


@dataclass(slots=True)
class Notebook:
    """A reporter that writes down what it hears."""

    said: list[str] = field(default_factory=list)
    downloads: list[str] = field(default_factory=list)
    on_tick: Callable[[], None] = lambda: None

    def info(self, message: str) -> None:
        self.said.append(message)

    @contextmanager
    def download(self, name: str, size: int) -> Iterator[Callable[[int], None]]:  # noqa: ARG002
        self.downloads.append(name)
        yield lambda _arrived: None

    @contextmanager
    def waiting(self, what: str, seconds: float) -> Iterator[Callable[[float], None]]:  # noqa: ARG002
        yield lambda _left: self.on_tick()


class QuietFiles(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing; two files in the folder make it misbehave."""

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        always = Path(self.directory) / "answer-always"
        if always.exists():
            self.send_error(int(always.read_text()))
            return None
        return super().send_head()

    def copyfile(self, source: Any, outputfile: Any) -> None:
        broken = (Path(self.directory) / "break-off").exists() and self.path.endswith(".tar.gz")
        outputfile.write(source.read(50 if broken else -1))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Quiet."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """A Maven repository: a folder and its address."""

    url: str
    root: Path

    def break_off_archives(self) -> None:
        """From now on send only the beginning of each archive."""
        (self.root / "break-off").touch()

    def answer_always(self, status: int) -> None:
        """From now on answer everything with this status."""
        (self.root / "answer-always").write_text(str(status))

    def publish(self, version: str, archive: bytes, **checksums: str) -> None:
        """Put an archive there, with its true SHA-1 unless other checksums are given."""
        folder = self.root / "io" / "camunda" / "camunda-zeebe" / version
        folder.mkdir(parents=True, exist_ok=True)
        name = f"camunda-zeebe-{version}.tar.gz"
        (folder / name).write_bytes(archive)
        (folder / f"camunda-zeebe-{version}.pom").write_text("<project/>")
        true_ones = {"sha1": hashlib.sha1(archive).hexdigest()}  # noqa: S324
        for algorithm, digest in (checksums or true_ones).items():
            (folder / f"{name}.{algorithm}").write_text(digest)


def archive_of(files: dict[str, str]) -> bytes:
    """A tar.gz that holds the files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text), 0o755
            tar.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def zeebe_archive(version: str = UNPINNED) -> bytes:
    """An archive shaped like the official one."""
    return archive_of({f"camunda-zeebe-{version}/bin/broker": "#!/bin/sh\n"})


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def ready_on(port: int, root: Path) -> Iterator[None]:
    """A stranger that claims to be ready on the port."""
    for path in ("actuator/clock", "actuator/health/readiness"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("{}")
    server = ThreadingHTTPServer(("127.0.0.1", port), partial(QuietFiles, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield
    server.shutdown()
    thread.join()
    server.server_close()


def pids_started(bin_folder: Path) -> list[int]:
    return [int(line) for line in (bin_folder / "starts").read_text().split()]
