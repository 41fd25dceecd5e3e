"""A batch whose answer was lost, at a payer whose settings want it cancelled before it is sent again."""

import pytest

from domain.submission import Accepted, Duplicate, Failed, Submission
from gateways.tiss.gateway import TissGateway
from tests.integration.tiss.stage import Stage, stage
from tests.unit.tiss.samples import NOW, PAYER, file_bytes, file_text

LOST_ONCE = {"rules": [{"arrivals": [1], "then": {"do": "lose-answer"}}]}
FIRST, AGAIN = Submission("CLM-X-1", PAYER, 1), Submission("CLM-X-1", PAYER, 2, after_lost_answer=True)


async def payload(_claim_id: str) -> bytes:
    return file_bytes(file_text())


def gateway(played: Stage) -> TissGateway:
    return TissGateway({PAYER: played.client}, payload)


async def test_by_default_nothing_is_cancelled_and_the_resend_meets_the_first() -> None:
    async with stage(LOST_ONCE) as played:
        await gateway(played).send(FIRST, NOW)
        assert isinstance(await gateway(played).send(AGAIN, NOW), Duplicate)
    assert "cancelled" not in played.verdicts


async def test_where_it_is_wanted_the_first_is_undone_and_the_second_gives_the_protocol() -> None:
    async with stage(LOST_ONCE, {"cancel_when_ambiguous": True}) as played:
        await gateway(played).send(FIRST, NOW)
        assert isinstance(await gateway(played).send(AGAIN, NOW), Accepted)
    assert played.verdicts == ["taken", "cancelled", "taken"]


async def test_the_first_send_of_a_claim_cancels_nothing() -> None:
    async with stage(settings={"cancel_when_ambiguous": True}) as played:
        assert isinstance(await gateway(played).send(FIRST, NOW), Accepted)
    assert played.verdicts == ["taken"]


@pytest.mark.parametrize("status", [2, 4])
async def test_a_payer_that_does_not_cancel_has_the_first_send(status: int) -> None:
    async with stage(LOST_ONCE | {"cancel_status": status}, {"cancel_when_ambiguous": True}) as played:
        await gateway(played).send(FIRST, NOW)
        assert isinstance(await gateway(played).send(AGAIN, NOW), Duplicate)


async def test_a_number_that_stays_refused_after_its_cancellation_goes_to_a_person() -> None:
    refuse = {"every": 3, "then": {"do": "refuse", "code": "3268"}}
    rules = {"rules": [*LOST_ONCE["rules"], refuse]}
    async with stage(rules, {"cancel_when_ambiguous": True}) as played:
        await gateway(played).send(FIRST, NOW)
        answer = await gateway(played).send(AGAIN, NOW)
    assert played.verdicts[:2] == ["taken", "cancelled"]
    assert isinstance(answer, Failed)
    assert "was cancelled" in answer.error


async def test_while_the_payer_cannot_be_asked_nothing_is_sent() -> None:
    async with stage(LOST_ONCE, {"cancel_when_ambiguous": True}) as played:
        await gateway(played).send(FIRST, NOW)
        await played.simulator.close_door()
        assert isinstance(await gateway(played).send(AGAIN, NOW), Failed)
    assert played.verdicts == ["taken"]
