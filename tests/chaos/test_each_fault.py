"""Five thousand jobs through each fault alone: nothing lost, every effect once, the worker goes on."""

from datetime import timedelta

import grpc
import pytest

from tests.chaos.arena import all_is_well, arena, storm
from tests.chaos.disturbances import break_streams, cut, half_open, quick_to_notice, restart
from tests.chaos.mixture import POLL, STREAM
from tests.support.faults import (
    EVERYTHING,
    INTAKE,
    REPORTS,
    BreakStream,
    Delay,
    DeliverTwice,
    ExpireEarly,
    Hang,
    LoseAnswer,
    Refuse,
    Rule,
    SlowStream,
)

ONE_BY_ONE = {
    "delay": [Rule(Delay(0.05), probability=0.1)],
    "answer lost": [
        Rule(LoseAnswer(), REPORTS, 0.2),
        Rule(LoseAnswer(grpc.StatusCode.DEADLINE_EXCEEDED), REPORTS, 0.1),
        Rule(LoseAnswer(), POLL, 0.05),
    ],
    "delivered twice": [Rule(DeliverTwice(), INTAKE, 0.2)],
    "lock expires early": [Rule(ExpireEarly(), INTAKE, 0.2)],
    "slow stream": [Rule(SlowStream(0.02), STREAM, 0.2)],
}


@pytest.mark.parametrize("rules", ONE_BY_ONE.values(), ids=ONE_BY_ONE.keys())
async def test_every_job_ends_as_it_should_and_has_its_effect_once(rules: list[Rule]) -> None:
    async with arena() as here:
        await storm(here, rules)
        assert here.gateway.faults.injected
        all_is_well(here)
        assert here.gateway.ledger.runs.repetitions == []


async def test_on_a_healthy_gateway_no_job_waits_for_a_lock_to_end() -> None:
    async with arena(lock=timedelta(seconds=20)) as here:
        await storm(here, jobs=1_000)
        all_is_well(here, 1_000)
        expiries = here.gateway.ledger.expiries
        assert expiries == 0
        assert here.gateway.ledger.runs.repetitions == []


async def test_calls_refused_with_every_status_lose_nothing() -> None:
    statuses = [s for s in grpc.StatusCode if s not in (grpc.StatusCode.OK, grpc.StatusCode.NOT_FOUND)]
    rules = [Rule(Refuse(status), EVERYTHING, 0.01) for status in statuses]
    async with arena() as here:
        await storm(here, rules)
        assert len(here.gateway.faults.injected) == len(statuses)
        all_is_well(here)
        assert here.gateway.ledger.runs.repetitions == []


async def test_killed_gateways_reset_connections_and_broken_streams_lose_nothing() -> None:
    async with arena(cabled=True) as here:
        await storm(here, [Rule(BreakStream(), STREAM, 0.01)], [restart, cut, break_streams] * 4)
        assert here.cable.connections > 6
        all_is_well(here)


async def test_half_open_connections_and_calls_without_an_answer_lose_nothing() -> None:
    rules = [Rule(Hang(), REPORTS, 0.002), Rule(Hang(), INTAKE, 0.01)]
    async with arena(cabled=True, channel_to=quick_to_notice) as here:
        await storm(here, rules, [half_open] * 4)
        all_is_well(here)
