"""What workers do every day, done with the rights of the shipped role and no more."""

from collections.abc import AsyncIterator, Iterator
from types import ModuleType

import pytest

from tests.contract.persistence import (
    test_claim_states,
    test_decisions,
    test_idempotency,
    test_outbox,
    test_payers,
    test_stand_alone,
)
from tests.integration import test_payer_admission, test_rejected_input
from tests.security.database_roles import with_roles
from tests.support.databases import Postgres

EVERY_DAY = (
    test_claim_states,
    test_decisions,
    test_idempotency,
    test_outbox,
    test_payers,
    test_stand_alone,
    test_payer_admission,
    test_rejected_input,
)


def _tests_and_fixtures(module: ModuleType) -> Iterator[tuple[str, object]]:
    """What pytest would find there; helpers stay where they are."""
    for name, thing in vars(module).items():
        if name.startswith("test_") or type(thing).__name__ == "FixtureFunctionDefinition":
            yield name, thing


for _module in EVERY_DAY:
    globals().update(_tests_and_fixtures(_module))


@pytest.fixture
def kind() -> str:
    """There are no roles on SQLite."""
    return "postgresql"


@pytest.fixture
async def url(postgres: Postgres) -> AsyncIterator[str]:
    """A migrated database of the test's own, for a user of the workers' role."""
    name = "reenvio_for_workers"
    await postgres.drop(name)
    async with with_roles(await postgres.create(name, postgres.template)) as urls:
        yield urls.workers
    await postgres.drop(name)
