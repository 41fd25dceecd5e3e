"""OpenSearch is fetched file by file, and no file is used that is not the pinned one."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from gateways.zeebe.engine import EngineConfig, EngineError
from gateways.zeebe.engine.config import OperateSettings
from gateways.zeebe.operate.install import installed_search
from gateways.zeebe.operate.pins import read_pins

from .support import Mirror, Notebook

FILES = {"org.search:node:1.0": b"a node", "org.search.plugin:painless:2.0": b"a script language"}


def path_of(coordinates: str) -> str:
    group, artifact, version = coordinates.split(":")
    return f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.jar"


def publish(mirror: Mirror, files: dict[str, bytes]) -> None:
    for coordinates, content in files.items():
        file = mirror.root / path_of(coordinates)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


@pytest.fixture
def pinned(config: EngineConfig, mirror: Mirror, tmp_path: Path) -> EngineConfig:
    pins = tmp_path / "pins.txt"
    pins.write_text("".join(f"{c} {len(b)} {sha256(b).hexdigest()}\n" for c, b in FILES.items()))
    publish(mirror, FILES)
    return replace(config, mirror=mirror.url, operate=OperateSettings(pins=pins))


def refusal(config: EngineConfig, notebook: Notebook) -> str:
    with pytest.raises(EngineError) as refused:
        installed_search(config, notebook)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_every_file_is_fetched_and_told_as_one_download(pinned: EngineConfig, notebook: Notebook) -> None:
    files = installed_search(pinned, notebook)
    assert [file.read_bytes() for file in files] == list(FILES.values())
    assert notebook.downloads == ["OpenSearch 2.17.1, 2 files"]


def test_the_second_time_needs_no_network(pinned: EngineConfig, notebook: Notebook) -> None:
    installed_search(pinned, notebook)
    installed_search(replace(pinned, mirror="http://127.0.0.1:9"), notebook)
    assert len(notebook.downloads) == 1


def test_a_file_that_differs_from_its_pin_is_refused_and_not_kept(
    pinned: EngineConfig, mirror: Mirror, notebook: Notebook
) -> None:
    publish(mirror, {"org.search:node:1.0": b"b node"})
    assert "node-1.0.jar from the mirror" in refusal(pinned, notebook)
    assert not list(pinned.cache.rglob("node-1.0.jar*"))


@pytest.mark.parametrize("damage", [b"a nodf", b"", None], ids=["changed", "cut off", "removed"])
def test_a_file_that_was_damaged_in_the_cache_is_fetched_anew(
    pinned: EngineConfig, notebook: Notebook, damage: bytes | None
) -> None:
    file = installed_search(pinned, notebook)[0]
    file.unlink() if damage is None else file.write_bytes(damage)
    assert installed_search(pinned, notebook)[0].read_bytes() == b"a node"
    assert notebook.downloads[1:] == ["OpenSearch 2.17.1, 1 files"]


def test_a_damaged_cache_without_a_network_is_refused(pinned: EngineConfig, notebook: Notebook) -> None:
    installed_search(pinned, notebook)[0].write_bytes(b"a nodf")
    advice = refusal(replace(pinned, mirror="http://127.0.0.1:9"), notebook)
    assert "check the network" in advice
    assert "ENGINE_MIRROR" in advice


def test_a_file_that_the_mirror_lacks_is_named(
    pinned: EngineConfig, mirror: Mirror, notebook: Notebook
) -> None:
    (mirror.root / path_of("org.search:node:1.0")).unlink()
    assert "org/search/node/1.0/node-1.0.jar is missing" in refusal(pinned, notebook)


@pytest.mark.parametrize("status", [401, 503])
def test_a_mirror_that_refuses_us_tells_its_status(
    pinned: EngineConfig, mirror: Mirror, notebook: Notebook, status: int
) -> None:
    mirror.answer_always(status)
    assert f"(HTTP {status})" in refusal(pinned, notebook)


def test_the_mirrors_password_is_not_shown(pinned: EngineConfig, notebook: Notebook) -> None:
    assert "hidden" not in refusal(replace(pinned, mirror="http://ana:hidden@127.0.0.1:9/maven"), notebook)


def test_the_packaged_list_pins_every_file_once() -> None:
    pins = read_pins(None)
    assert len({pin.file_name for pin in pins}) == len(pins) == 95
    assert all(len(pin.sha256) == 64 and pin.size for pin in pins)
    assert "opensearch-2.17.1.jar" in {pin.file_name for pin in pins}
