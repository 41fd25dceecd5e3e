"""Five thousand jobs through all faults at once, and spells in which the gateway refuses everything."""

import grpc
import pytest

from tests.chaos.arena import all_is_well, arena, storm, until
from tests.chaos.disturbances import break_streams, cut, half_open, quick_to_notice, restart
from tests.chaos.mixture import MIXED, POLL, STATUSES, STREAM
from tests.support.faults import Hang, Refuse, Rule


async def test_all_faults_mixed_lose_nothing_and_double_nothing() -> None:
    async with arena(cabled=True, channel_to=quick_to_notice) as here:
        await storm(here, MIXED, [restart, cut, half_open, break_streams] * 2)
        assert len(here.gateway.faults.injected) >= len(MIXED)
        assert here.gateway.ledger.redeliveries > 0
        all_is_well(here)


@pytest.mark.parametrize("status", STATUSES, ids=lambda status: status.name)
async def test_a_spell_in_which_everything_is_refused_passes(status: grpc.StatusCode) -> None:
    jobs = 100
    async with arena() as here:
        refused = here.gateway.faults.injected
        here.gateway.faults.switch(Rule(Refuse(status)))
        here.create(range(jobs))
        await until(lambda: refused.total() >= 4)
        assert here.gateway.ledger.ended == 0

        here.gateway.faults.switch()
        await here.ended(jobs)
        all_is_well(here, jobs)


async def test_a_gateway_without_streams_is_served_by_polling() -> None:
    async with arena() as here:
        await storm(here, [Rule(Refuse(grpc.StatusCode.UNIMPLEMENTED), STREAM)], jobs=500)
        all_is_well(here, 500)


async def test_a_gateway_that_answers_no_polls_still_pushes() -> None:
    async with arena() as here:
        await until(lambda: here.gateway.open_streams("chaos-wide") > 0)
        here.gateway.faults.switch(Rule(Hang(), POLL))
        here.create(range(1, 9))
        await here.ended(8)
