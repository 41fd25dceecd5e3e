"""The files that an OpenSearch node is made of: each with its size and SHA-256, known beforehand."""

from dataclasses import dataclass
from pathlib import Path

from gateways.zeebe.engine.checksums import digest_of

SEARCH_VERSION = "2.17.1"
_PACKAGED = Path(__file__).with_name("opensearch.txt")


@dataclass(frozen=True, slots=True)
class Pin:
    """One file in a Maven repository, and what it must hash to."""

    group: str
    artifact: str
    version: str
    size: int
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    @property
    def path(self) -> str:
        """Where a Maven repository has it."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.file_name}"

    def is_in(self, folder: Path) -> bool:
        """Whether the folder has it, byte for byte."""
        file = folder / self.file_name
        return (
            file.is_file() and file.stat().st_size == self.size and digest_of(file, "sha256") == self.sha256
        )


def read_pins(path: Path | None) -> tuple[Pin, ...]:
    """A list with one `group:artifact:version size sha256` per line; the packaged one where none is named."""
    lines = (path or _PACKAGED).read_text(encoding="ascii").splitlines()
    return tuple(_pin(*line.split()) for line in lines)


def _pin(coordinates: str, size: str, sha256: str) -> Pin:
    group, artifact, version = coordinates.split(":")
    return Pin(group, artifact, version, int(size), sha256)
