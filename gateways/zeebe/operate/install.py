"""The OpenSearch node in the cache: every file is what was pinned, at every start, or nothing starts."""

from pathlib import Path

from gateways.zeebe.engine.config import EngineConfig
from gateways.zeebe.engine.locks import exclusive
from gateways.zeebe.engine.reporter import StartReporter
from gateways.zeebe.operate.pins import SEARCH_VERSION, Pin, read_pins


def installed_search(config: EngineConfig, reporter: StartReporter) -> list[Path]:
    """The node's files; those that are missing or damaged are fetched."""
    pins = read_pins(config.operate.pins)
    folder = config.cache / f"opensearch-{SEARCH_VERSION}"
    with exclusive(config.cache / "install.lock", reporter, "Another start is fetching the engine; waiting."):
        folder.mkdir(parents=True, exist_ok=True)
        _complete(config, folder, [pin for pin in pins if not pin.is_in(folder)], reporter)
    return [folder / pin.file_name for pin in pins]


def _complete(config: EngineConfig, folder: Path, missing: list[Pin], reporter: StartReporter) -> None:
    if missing:
        from gateways.zeebe.operate.fetch import fetch_into  # slow, and seldom needed

        fetch_into(folder, missing, config, reporter)
