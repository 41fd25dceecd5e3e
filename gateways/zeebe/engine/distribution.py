"""The unpacked distribution in the cache: whole and verified, or not there at all."""

import shutil
import tarfile
import tempfile
from pathlib import Path

from gateways.zeebe.engine.checksums import Checksum, beside, digest_of, matches, pinned
from gateways.zeebe.engine.config import EngineConfig
from gateways.zeebe.engine.errors import EngineError
from gateways.zeebe.engine.locks import exclusive
from gateways.zeebe.engine.reporter import StartReporter

_MARKER = ".complete"
_STAGING_PREFIX = "staging-"


def installed_distribution(config: EngineConfig, reporter: StartReporter) -> Path:
    """The folder of the unpacked distribution; fetches and unpacks it the first time."""
    with exclusive(config.cache / "install.lock", reporter, "Another start is fetching the engine; waiting."):
        if config.archive is not None:
            return _from_local_archive(config, config.archive, reporter)
        return _folder(config) if _marker(config) else _from_repository(config, reporter)


def _from_repository(config: EngineConfig, reporter: StartReporter) -> Path:
    from gateways.zeebe.engine.download import download_archive, published_checksum  # slow, and seldom needed

    staging = _fresh_staging(config)
    try:
        expected = published_checksum(config, staging, reporter)
        archive = download_archive(config, staging, reporter)
        if not matches(archive, expected):
            raise EngineError(
                _refusal(f"The download of Zeebe {config.version}", expected, "try again later")
            )
        return _install(config, archive, staging, reporter)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _from_local_archive(config: EngineConfig, archive: Path, reporter: StartReporter) -> Path:
    if not archive.is_file():
        raise EngineError(
            f"ENGINE_ARCHIVE names {archive}, which is not a file: correct the path or unset it."
        )
    expected = pinned(config.version) or beside(archive)
    if expected is None:
        reporter.info(f"No checksum is known for {archive.name}; using it as it is.")
    elif not matches(archive, expected):
        advice = f"copy it again, or set ENGINE_VERSION if it is not {config.version}"
        raise EngineError(_refusal(f"ENGINE_ARCHIVE {archive}", expected, advice))
    if _marker(config) == digest_of(archive, "sha256"):
        return _folder(config)
    staging = _fresh_staging(config)
    try:
        return _install(config, archive, staging, reporter)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _install(config: EngineConfig, archive: Path, staging: Path, reporter: StartReporter) -> Path:
    reporter.info(f"Unpacking Zeebe {config.version}.")
    unpacked = _unpack(archive, staging / "unpacked", config.version)
    (unpacked / _MARKER).write_text(digest_of(archive, "sha256"))
    target = _folder(config)
    if target.exists():
        target.rename(staging / "replaced")
    return unpacked.rename(target)


def _unpack(archive: Path, into: Path, version: str) -> Path:
    try:
        with tarfile.open(archive, "r:gz") as tar:
            _extract(tar, into)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise EngineError(
            f"{archive.name} could not be unpacked ({error}): it is damaged or the disk is full; "
            "free some space or get it again."
        ) from error
    unpacked = into / f"camunda-zeebe-{version}"
    if not (unpacked / "bin" / "broker").is_file():
        raise EngineError(
            f"{archive.name} does not hold camunda-zeebe-{version}: set ENGINE_VERSION to what it holds."
        )
    return unpacked


def _extract(tar: tarfile.TarFile, into: Path) -> None:
    if hasattr(tarfile, "data_filter"):
        tar.extractall(into, filter="data")
        return
    # Python before 3.11.4 has no filter: refuse by hand what could leave the folder
    for member in tar.getmembers():
        inside = (into / member.name).resolve().is_relative_to(into.resolve())
        if not inside or not (member.isfile() or member.isdir()):
            raise tarfile.TarError(f"{member.name} does not belong in a distribution")
    tar.extractall(into)  # noqa: S202  # every member was checked above


def _fresh_staging(config: EngineConfig) -> Path:
    """A new private folder beside the target; what killed starts left behind goes away."""
    for leftover in config.cache.glob(f"{_STAGING_PREFIX}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=_STAGING_PREFIX, dir=config.cache))


def _folder(config: EngineConfig) -> Path:
    return config.cache / f"camunda-zeebe-{config.version}"


def _marker(config: EngineConfig) -> str | None:
    marker = _folder(config) / _MARKER
    return marker.read_text() if marker.is_file() else None


def _refusal(what: str, expected: Checksum, advice: str) -> str:
    return (
        f"{what} is damaged or not the official one: its {expected.algorithm} differs from the one "
        f"{expected.source}; it was not used, {advice}."
    )
