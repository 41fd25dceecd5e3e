"""Who takes part in the bench does the work that it is measured by."""

import pytest

from tests.bench.contender import running_contender
from tests.bench.load import failed_claim
from tests.bench.names import Name
from tests.bench.roster import roster
from tests.support.faults import End, faulty_gateway
from tests.support.waiting import eventually
from workers.config.settings import read_settings


@pytest.mark.parametrize("name", [Name.DECISION_SQLITE, Name.DECISION_POSTGRESQL, Name.TELEMETRY_OFF])
async def test_a_contender_that_decides_completes_its_job(name: Name) -> None:
    async with faulty_gateway() as gateway:
        job = gateway.store.create("decide", failed_claim(1))

        async def has_ended() -> bool:
            return gateway.ledger.stories[job].end is not None

        async with (
            roster([name], gateway.address, read_settings().engine.config()) as everyone,
            running_contender(everyone.contenders[0]) as running,
        ):
            await running.serve("decide")
            await eventually(has_ended)
        assert gateway.ledger.stories[job].end is End.COMPLETED
