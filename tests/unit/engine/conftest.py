"""A Maven repository on localhost, and a distribution whose broker needs no Java."""

import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from gateways.zeebe.engine import EngineConfig, stop

from .operate_stage import stage
from .support import UNPINNED, Mirror, Notebook, QuietFiles

__all__ = ["stage"]


@pytest.fixture
def notebook() -> Notebook:
    return Notebook()


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    root = tmp_path / "mirror"
    root.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietFiles, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield Mirror(f"http://127.0.0.1:{server.server_address[1]}", root)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def config(tmp_path: Path) -> Iterator[EngineConfig]:
    """A home and a cache of its own; whatever was started there is stopped."""
    config = EngineConfig(
        home=tmp_path / "home", cache=tmp_path / "cache", version=UNPINNED, ready_seconds=20, stop_seconds=5
    )
    yield config
    stop(config)


@pytest.fixture
def installed(config: EngineConfig) -> Callable[[str], Path]:
    """Puts the fake broker into the cache with a behaviour; returns its bin folder."""

    def install(behaviour: str) -> Path:
        folder = config.cache / f"camunda-zeebe-{config.version}"
        bin_folder = folder / "bin"
        bin_folder.mkdir(parents=True, exist_ok=True)
        source = Path(__file__).with_name("fake_broker.py").read_text()
        (bin_folder / "broker").write_text(f"#!{sys.executable}\n{source}")
        (bin_folder / "broker").chmod(0o755)
        (bin_folder / "behaviour").write_text(behaviour)
        (folder / ".complete").write_text("installed by a test")
        return bin_folder

    return install
