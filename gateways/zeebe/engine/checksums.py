"""What the archive must hash to: pinned here for the default version, else as its repository publishes."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from gateways.zeebe.engine.errors import EngineError

PINNED_SHA256 = {"8.6.0": "5c699e86a6c9d290dd7b1f0b2ea648fb57fd1dacf1cab22c874219e58827ea45"}
PUBLISHED_ALGORITHMS = ("sha512", "sha256", "sha1")


@dataclass(frozen=True, slots=True)
class Checksum:
    """An expected digest and where the expectation comes from."""

    algorithm: str
    digest: str
    source: str


def pinned(version: str) -> Checksum | None:
    """The checksum this release of Reenvio knows by heart, if it knows the version."""
    digest = PINNED_SHA256.get(version)
    return Checksum("sha256", digest, "pinned in Reenvio") if digest else None


def parse_published(algorithm: str, text: str, source: str) -> Checksum:
    """Read a checksum file: bare hex, or hex followed by the file's name."""
    words = text.split()
    length = hashlib.new(algorithm).digest_size * 2
    if not words or len(words[0]) != length:
        raise EngineError(f"The checksum {source} is not a {algorithm} digest: ask its owner to repair it.")
    return Checksum(algorithm, words[0].lower(), source)


def beside(archive: Path) -> Checksum | None:
    """The checksum file that lies next to a local archive, if any."""
    for algorithm in PUBLISHED_ALGORITHMS:
        candidate = archive.with_name(f"{archive.name}.{algorithm}")
        if candidate.is_file():
            return parse_published(algorithm, candidate.read_text(errors="replace"), f"in {candidate}")
    return None


def digest_of(path: Path, algorithm: str) -> str:
    """The file's hex digest."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, algorithm).hexdigest()


def matches(path: Path, expected: Checksum) -> bool:
    """Whether the file is byte for byte what was published."""
    return digest_of(path, expected.algorithm) == expected.digest
