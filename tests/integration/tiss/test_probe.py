"""The probe: a sign of life, asked without credentials and without a claim."""

import pytest

from gateways.clock import WallClock
from gateways.practice.simulator.scenario import Scenario
from gateways.practice.simulator.server import Simulator, simulated_payers
from gateways.tiss.probe import is_up
from tests.support.tiss_samples import PAYER, payer


async def looked(scenario: dict[str, object], path: str = PAYER) -> tuple[bool | None, Simulator]:
    played = Scenario.model_validate({"payers": [{"registro_ans": PAYER} | scenario]})
    async with simulated_payers(played, WallClock()) as simulator:
        settings = payer(
            f"{simulator.url}/{path}", timeouts={"connect": 1, "read": 0.3, "write": 1, "total": 5}
        )
        return await is_up(settings), simulator


def outage(**then: object) -> dict[str, object]:
    return {"outages": [{"end": "PT1H", "then": then}]}


async def test_a_payer_that_answers_is_up_and_nothing_reaches_its_ledger() -> None:
    up, simulator = await looked({"accounts": {"somebody": "0" * 32}})
    assert up
    assert not simulator.ledger.entries


async def test_an_answer_that_is_no_server_error_is_a_sign_of_life() -> None:
    assert (await looked({}, path="no-such-place"))[0]
    assert (await looked(outage(do="http", status=403), path=f"{PAYER}?service=lote"))[0]


@pytest.mark.parametrize(
    "then",
    [
        {"do": "http", "status": 503},
        {"do": "http", "status": 502},
        {"do": "drop", "how": "close"},
        {"do": "drop", "how": "reset"},
        {"do": "drop", "how": "hang"},
    ],
)
async def test_a_payer_in_an_outage_is_not_up(then: dict[str, object]) -> None:
    assert not (await looked(outage(**then)))[0]


async def test_a_closed_door_is_not_up() -> None:
    _, simulator = await looked({})
    assert not await is_up(payer(f"{simulator.url}/{PAYER}"))
