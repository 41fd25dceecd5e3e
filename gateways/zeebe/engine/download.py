"""Fetches the official distribution from a Maven repository, through jgo, into a staging folder."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from jgo.maven import Artifact, MavenContext, PythonResolver
from jgo.util import http

from gateways.zeebe.engine.checksums import PUBLISHED_ALGORITHMS, Checksum, parse_published, pinned
from gateways.zeebe.engine.config import EngineConfig
from gateways.zeebe.engine.errors import EngineError
from gateways.zeebe.engine.reporter import StartReporter

GROUP, ARTIFACT, PACKAGING = "io.camunda", "camunda-zeebe", "tar.gz"
STALL_SECONDS = 30


def download_archive(config: EngineConfig, staging: Path, reporter: StartReporter) -> Path:
    """Fetch the archive, unverified, into `staging`."""
    with _explained(config), silenced("jgo"):
        artifact = _artifact(config, staging, reporter)
        # asked first, because jgo tells no status and leaves the connection of a refused download open
        _refuse(http.head(_url(artifact), timeout=STALL_SECONDS).status_code, config)
        return artifact.resolve()


def published_checksum(config: EngineConfig, staging: Path, reporter: StartReporter) -> Checksum:
    """The pinned checksum, or the strongest one that the repository publishes beside the archive."""
    known = pinned(config.version)
    if known:
        return known
    archive_url = _url(_artifact(config, staging, reporter))
    for algorithm in PUBLISHED_ALGORITHMS:
        text = _text_at(f"{archive_url}.{algorithm}", config)
        if text is not None:
            return parse_published(algorithm, text, f"published by {source_of(config)}")
    if _text_at(f"{archive_url.removesuffix(PACKAGING)}pom", config) is None:
        raise EngineError(_not_published(config))
    raise EngineError(
        f"Zeebe {config.version} has no checksum at {source_of(config)}, so it cannot be trusted: "
        "publish its .sha1 there, or name a local archive with ENGINE_ARCHIVE."
    )


def _refuse(status: int, config: EngineConfig) -> None:
    if status == HTTPStatus.NOT_FOUND:
        raise EngineError(_not_published(config))
    if (
        status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
        or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    ):
        raise EngineError(_unreachable(config, f"HTTP {status}"))


def _text_at(url: str, config: EngineConfig) -> str | None:
    with _explained(config), silenced("jgo"):
        answer = http.get(url, timeout=STALL_SECONDS)
        if answer.status_code != HTTPStatus.NOT_FOUND:
            _refuse(answer.status_code, config)
        return str(answer.text) if answer.status_code == HTTPStatus.OK else None


def _artifact(config: EngineConfig, staging: Path, reporter: StartReporter) -> Artifact:
    context = _context(config, staging, PythonResolver(progress_callback=reporter.download))
    return context.project(GROUP, ARTIFACT).at_version(config.version).artifact(packaging=PACKAGING)


def repository_of(config: EngineConfig) -> str:
    """The address of the Maven repository to fetch from."""
    return _repository(_context(config, config.cache, PythonResolver()))


def _context(config: EngineConfig, folder: Path, resolver: PythonResolver) -> MavenContext:
    return MavenContext(
        resolver=resolver,
        repo_cache=folder,
        local_repos=[],
        remote_repos={"mirror": config.mirror.rstrip("/")} if config.mirror else None,
        timeout=STALL_SECONDS,
    )


def _repository(context: MavenContext) -> str:
    return str(next(iter(context.remote_repos.values())))


def _url(artifact: Artifact) -> str:
    return f"{_repository(artifact.context)}/{artifact.component.path_prefix.as_posix()}/{artifact.filename}"


@contextmanager
def _explained(config: EngineConfig) -> Iterator[None]:
    """jgo raises RuntimeError for what is not published; the network's and the disk's errors are OSErrors."""
    try:
        yield
    except RuntimeError as error:
        raise EngineError(_not_published(config)) from error
    except OSError as error:
        raise EngineError(_unreachable(config, type(error).__name__)) from error


@contextmanager
def silenced(name: str) -> Iterator[None]:
    """The library of that name says nothing meanwhile."""
    # jgo warns about a wrong checksum and carries on; we refuse, and say so ourselves
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def source_of(config: EngineConfig) -> str:
    """The repository in words, without its password."""
    return f"the mirror {without_password(config.mirror)}" if config.mirror else "Maven Central"


def without_password(url: str) -> str:
    """The URL as it may be shown: no user, no password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _not_published(config: EngineConfig) -> str:
    return (
        f"Zeebe {config.version} (io.camunda:camunda-zeebe) is not published at {source_of(config)}: "
        "check ENGINE_VERSION and ENGINE_MIRROR, or name a local archive with ENGINE_ARCHIVE."
    )


def _unreachable(config: EngineConfig, reason: str) -> str:
    return (
        f"Zeebe {config.version} could not be downloaded from {source_of(config)} ({reason}): "
        "check the network and the free disk space, or set ENGINE_MIRROR (an internal Maven repository) "
        "or ENGINE_ARCHIVE (a local camunda-zeebe tar.gz)."
    )
