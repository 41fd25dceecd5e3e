"""Memory and ports are looked at first: what is short is said in one line with its remedy."""

import os
import socket

import pytest

from gateways.zeebe.engine import EngineConfig, EngineError
from gateways.zeebe.engine.memory import megabytes
from gateways.zeebe.operate.room import available_megabytes, require_memory, search_port


@pytest.mark.parametrize(("setting", "size"), [("512m", 512), ("1g", 1024), ("2G", 2048)])
def test_sizes_are_read_as_java_reads_them(setting: str, size: int) -> None:
    assert megabytes(setting, "ENGINE_SEARCH_MEMORY") == size


def test_the_defaults_need_less_than_two_gigabytes(config: EngineConfig) -> None:
    require_memory(config, 2000)
    with pytest.raises(EngineError, match="needs about 1836 MB of memory and 1800 MB are free: close"):
        require_memory(config, 1800)


def test_this_machines_memory_is_known() -> None:
    assert available_megabytes() > 0


def test_a_port_that_is_asked_for_and_held_is_refused_with_its_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        with pytest.raises(EngineError, match=f"Port {port} is held by .*process {os.getpid()}.*SEARCH_PORT"):
            search_port(port)


def test_a_held_port_is_passed_over_when_none_is_asked_for() -> None:
    first = search_port(None)
    with socket.create_server(("127.0.0.1", first)):
        assert first < search_port(None) <= 9299
