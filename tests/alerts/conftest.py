"""Prometheus and its promtool, which Debian packages and Python does not."""

import shutil

import pytest

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
