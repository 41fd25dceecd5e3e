"""A real broker of its own for each run through an outage."""

from pathlib import Path

import pytest

from gateways.zeebe import engine
from tests.support.broker import READY_SECONDS, any_ports
from tests.support.own_broker import own_broker
from workers.config.settings import read_settings

__all__ = ["own_broker"]


@pytest.fixture
def own_config(tmp_path: Path) -> engine.EngineConfig:
    """A home of the test's own, with the shared cache of distributions."""
    return engine.EngineConfig(
        home=tmp_path / "engine",
        cache=read_settings().engine.config().cache,
        ports=any_ports(),
        ready_seconds=READY_SECONDS,
    )
