"""What workers do every day, done with the rights of the shipped role and no more."""

import pytest

from tests.integration import test_payer_admission, test_rejected_input
from tests.support.database_roles import found_in, url_for_workers

__all__ = ["url_for_workers"]


@pytest.fixture
def kind() -> str:
    """There are no roles on SQLite."""
    return "postgresql"


@pytest.fixture
def url(url_for_workers: str) -> str:
    """Every database here is opened by a user of the workers' role."""
    return url_for_workers


globals().update(found_in(test_payer_admission, test_rejected_input))
