"""The broker's environment: localhost only, a movable clock, options its Java understands."""

from pathlib import Path

import pytest

from gateways.zeebe.engine import EngineConfig
from gateways.zeebe.engine.environment import broker_environment
from gateways.zeebe.engine.java import Java
from gateways.zeebe.engine.ports import PREFERRED


def environment(config: EngineConfig, major: int = 25) -> dict[str, str]:
    java = Java(Path("java"), major)
    return broker_environment(config, java, ports=PREFERRED, inherited={})


def test_every_socket_is_bound_to_localhost(config: EngineConfig) -> None:
    hosts = {k: v for k, v in environment(config).items() if k.endswith(("HOST", "ADDRESS"))}
    assert len(hosts) == 5
    assert set(hosts.values()) == {"127.0.0.1"}


def test_the_clock_can_be_moved(config: EngineConfig) -> None:
    assert environment(config)["ZEEBE_CLOCK_CONTROLLED"] == "true"


@pytest.mark.parametrize(("major", "given"), [(21, False), (22, False), (23, True), (25, True)])
def test_options_that_an_older_java_would_refuse_are_left_out(
    config: EngineConfig, major: int, given: bool
) -> None:
    assert ("--sun-misc-unsafe-memory-access=allow" in environment(config, major)["JAVA_OPTS"]) is given


def test_memory_is_limited_as_asked(config: EngineConfig) -> None:
    assert "-Xmx512m" in environment(config)["JAVA_OPTS"]
