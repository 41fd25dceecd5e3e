"""Prometheus and its promtool, which Debian packages and Python does not."""

import shutil
from pathlib import Path

import pytest

from gateways.zeebe import engine
from tests.support.broker import QUICK, READY_SECONDS, any_ports
from tests.support.own_broker import own_broker
from workers.config.settings import read_settings

__all__ = ["own_broker"]

MISSING = "Prometheus is missing, and its alerts are not tested: apt-get install prometheus"


@pytest.fixture(scope="session")
def promtool() -> str:
    """The program that tests rules."""
    return _found("promtool")


@pytest.fixture(scope="session")
def prometheus() -> str:
    """The program that scrapes and evaluates."""
    return _found("prometheus")


def _found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        pytest.skip(MISSING)
    return path


@pytest.fixture
def own_config(prometheus: str, tmp_path: Path) -> engine.EngineConfig:
    """A home of the test's own, with the shared cache of distributions; not begun without a Prometheus."""
    return engine.EngineConfig(
        home=tmp_path / "engine",
        cache=read_settings().engine.config().cache,
        settings=QUICK,
        ports=any_ports(),
        ready_seconds=READY_SECONDS,
    )
