"""Fetches pinned files from a Maven repository: several at once, none kept that is not what was pinned."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path

from jgo.util import http

from gateways.zeebe.engine.config import EngineConfig
from gateways.zeebe.engine.download import STALL_SECONDS, repository_of, silenced, source_of
from gateways.zeebe.engine.errors import EngineError
from gateways.zeebe.engine.reporter import StartReporter
from gateways.zeebe.operate.pins import SEARCH_VERSION, Pin

_AT_ONCE = 4


def fetch_into(folder: Path, pins: Sequence[Pin], config: EngineConfig, reporter: StartReporter) -> None:
    """Fetch each, check it, put it into the folder in one step; what was fetched before a failure stays."""
    fetch = partial(_fetch, folder, repository_of(config), config)
    name, total = f"OpenSearch {SEARCH_VERSION}, {len(pins)} files", sum(pin.size for pin in pins)
    with silenced("jgo"), reporter.download(name, total) as arrived, ThreadPoolExecutor(_AT_ONCE) as pool:
        for size in pool.map(fetch, pins):  # the first failure calls off what has not begun
            arrived(size)


def _fetch(folder: Path, repository: str, config: EngineConfig, pin: Pin) -> int:
    content = _content(f"{repository}/{pin.path}", pin, config)
    if sha256(content).hexdigest() != pin.sha256:
        raise EngineError(
            f"{pin.file_name} from {source_of(config)} is damaged or not the official one: its sha256 "
            "differs from the one pinned in Reenvio; it was not used, try again later or set ENGINE_MIRROR."
        )
    draft = folder / f"{pin.file_name}.new"
    draft.write_bytes(content)
    draft.replace(folder / pin.file_name)
    return len(content)


def _content(url: str, pin: Pin, config: EngineConfig) -> bytes:
    try:
        answer = http.get(url, timeout=STALL_SECONDS)
    except OSError as error:
        raise _unreachable(config, type(error).__name__) from error
    if answer.status_code == HTTPStatus.NOT_FOUND:
        raise EngineError(
            f"OpenSearch {SEARCH_VERSION} is not whole at {source_of(config)}, {pin.path} is missing: "
            "publish it there, or unset ENGINE_MIRROR."
        )
    if answer.status_code != HTTPStatus.OK:
        raise _unreachable(config, f"HTTP {answer.status_code}")
    return bytes(answer.content)


def _unreachable(config: EngineConfig, reason: str) -> EngineError:
    return EngineError(
        f"OpenSearch {SEARCH_VERSION} could not be downloaded from {source_of(config)} ({reason}): check the "
        "network, set ENGINE_MIRROR (an internal Maven repository), or start without --operate."
    )
