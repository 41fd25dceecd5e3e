"""Many claims through an outage of their payer, on a real broker with the simulated payer."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateways.zeebe import engine
from tests.outage.figures import peak
from tests.outage.plan import Plan
from tests.outage.run import through_the_outage
from tests.outage.table import unmet

SMALL = Plan(claims=120, outage=timedelta(minutes=40), per_minute=60)
PATIENCE_SECONDS = 900


@pytest.mark.long
@pytest.mark.timeout(PATIENCE_SECONDS)
async def test_with_the_breaker_all_are_recovered_with_few_sends_and_no_herd(
    own_broker: engine.RunningEngine, tmp_path: Path
) -> None:
    result = await through_the_outage(SMALL, tmp_path, own_broker, breaker=True, tell=print)
    assert unmet(result) == []


@pytest.mark.long
@pytest.mark.timeout(PATIENCE_SECONDS)
async def test_with_the_plain_rule_each_claim_calls_a_payer_that_is_out(
    own_broker: engine.RunningEngine, tmp_path: Path
) -> None:
    result = await through_the_outage(SMALL, tmp_path, own_broker, breaker=False, tell=print)
    assert result.attempts_per_claim > 2
    assert result.taken_twice == 0


def test_a_peak_is_what_one_minute_saw() -> None:
    start = datetime(2026, 1, 15, tzinfo=UTC)
    moments = [start + timedelta(seconds=second) for second in (0, 10, 59, 60, 61, 119)]
    assert peak(moments) == 4
