"""A real broker for one test; the folder of the test says by `own_config` how it runs."""

from collections.abc import Iterator

import pytest

from gateways.zeebe import engine


@pytest.fixture
def own_broker(own_config: engine.EngineConfig) -> Iterator[engine.RunningEngine]:
    """A real broker for one test."""
    yield engine.start(own_config, engine.SilentReporter())
    engine.stop(own_config)
