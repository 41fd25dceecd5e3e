"""What workers do every day, done with the rights of the shipped role and no more."""

import pytest

from tests.contract.persistence import (
    test_claim_states,
    test_dead_letters,
    test_decisions,
    test_idempotency,
    test_outbox,
    test_payers,
    test_stand_alone,
)
from tests.support.database_roles import found_in, url_for_workers

__all__ = ["url_for_workers"]
EVERY_DAY = (
    test_claim_states,
    test_dead_letters,
    test_decisions,
    test_idempotency,
    test_outbox,
    test_payers,
    test_stand_alone,
)


@pytest.fixture
def kind() -> str:
    """There are no roles on SQLite."""
    return "postgresql"


@pytest.fixture
def url(url_for_workers: str) -> str:
    """Every database here is opened by a user of the workers' role."""
    return url_for_workers


globals().update(found_in(*EVERY_DAY))
