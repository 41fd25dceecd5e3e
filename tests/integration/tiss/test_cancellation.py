"""A batch whose answer was lost, at a payer whose settings want it cancelled before it is sent again."""

from dataclasses import replace

import pytest

from domain.payer_status import PayerLimits
from domain.submission import Accepted, Duplicate, Failed, Submission
from gateways.clock import WallClock
from gateways.tiss.gateway import TissGateway
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.payloads import seal_payload
from persistence.store import Store
from tests.support.connected_payer import ConnectedPayer, connected_payer
from tests.support.services import services
from tests.support.tiss_samples import NOW, PAYER, file_bytes, file_text, payer
from workers.jobs.submit_claim import submit_claim
from workers.payers.channels import PayerChannel, gateway_to
from workers.payers.limits import LimitsByPayer
from workers.runtime import Job, Throw

LOST_ONCE = {"rules": [{"arrivals": [1], "then": {"do": "lose-answer", "how": "reset"}}]}
SPENT = LOST_ONCE | {"cancelled_numbers": "spent"}
FIRST = Submission("CLM-X-1", PAYER, 1, content=file_bytes(file_text()))
AGAIN = replace(FIRST, attempt=2, after_lost_answer=True)


def gateway(played: ConnectedPayer) -> TissGateway:
    return TissGateway({PAYER: played.client})


async def test_by_default_nothing_is_cancelled_and_the_resend_meets_the_first() -> None:
    async with connected_payer(LOST_ONCE) as played:
        await gateway(played).send(FIRST, NOW)
        assert isinstance(await gateway(played).send(AGAIN, NOW), Duplicate)
    assert "cancelled" not in played.verdicts


async def test_where_it_is_wanted_the_first_is_undone_and_the_second_gives_the_protocol() -> None:
    async with connected_payer(LOST_ONCE, {"cancel_when_ambiguous": True}) as played:
        await gateway(played).send(FIRST, NOW)
        assert isinstance(await gateway(played).send(AGAIN, NOW), Accepted)
    assert played.verdicts == ["taken", "cancelled", "taken"]


async def test_the_first_send_of_a_claim_cancels_nothing() -> None:
    async with connected_payer(settings={"cancel_when_ambiguous": True}) as played:
        assert isinstance(await gateway(played).send(FIRST, NOW), Accepted)
    assert played.verdicts == ["taken"]


async def test_a_payer_that_does_not_cancel_has_the_first_send() -> None:
    async with connected_payer(LOST_ONCE | {"cancel_status": 2}, {"cancel_when_ambiguous": True}) as played:
        await gateway(played).send(FIRST, NOW)
        assert isinstance(await gateway(played).send(AGAIN, NOW), Duplicate)


@pytest.mark.parametrize("code", ["3162", "3291"])
async def test_a_payer_that_finds_nothing_to_cancel_gets_the_batch(code: str) -> None:
    unknown = [
        {"arrivals": [1], "then": {"do": "drop"}},
        {"every": 2, "then": {"do": "refuse", "code": code}},
    ]
    async with connected_payer({"rules": unknown}, {"cancel_when_ambiguous": True}) as played:
        await gateway(played).send(FIRST, NOW)
        assert isinstance(await gateway(played).send(AGAIN, NOW), Accepted)
    assert played.verdicts == ["drop", f"refused:{code}", "taken"]


async def test_while_the_payer_is_still_cancelling_nothing_is_sent() -> None:
    async with connected_payer(LOST_ONCE | {"cancel_status": 4}, {"cancel_when_ambiguous": True}) as played:
        await gateway(played).send(FIRST, NOW)
        answer = await gateway(played).send(AGAIN, NOW)
    assert isinstance(answer, Failed)
    assert answer.code == "CANCEL:4"
    assert played.verdicts == ["taken", "cancel:4"]


async def test_a_number_that_stays_refused_after_its_cancellation_goes_to_a_person() -> None:
    async with connected_payer(SPENT, {"cancel_when_ambiguous": True}) as played:
        await gateway(played).send(FIRST, NOW)
        answer = await gateway(played).send(AGAIN, NOW)
    assert played.verdicts == ["taken", "cancelled", "refused:3268"]
    assert isinstance(answer, Failed)
    assert "was cancelled" in answer.error


async def test_a_cancellation_is_remembered_at_every_later_send(store: Store) -> None:
    """Taken and cancelled; then the connection breaks; then the payer has nothing and refuses the number."""
    rules = [*LOST_ONCE["rules"], {"every": 3, "then": {"do": "drop", "how": "reset"}}]
    async with connected_payer(SPENT | {"rules": rules}, {"cancel_when_ambiguous": True}) as played:
        outcomes = [await submit(store, played, retry) for retry in range(3)]
    assert played.verdicts == ["taken", "cancelled", "drop", "cancel:5", "refused:3268"]
    *lost, last = (outcome.variables["submissionErrorCode"] for outcome in outcomes)
    assert lost == ["NET:RESET", "NET:RESET"]
    assert last == "TISS:3268"  # for a person, not "the payer has it"
    async with store.reading() as tx:
        events = [entry.event for entry in await tx.journal.of_claim(FIRST.claim_id)]
    assert events == ["failed", "cancelled_at_payer", "failed", "failed"]


async def test_what_the_payer_has_cancelled_is_no_lost_answer_any_more(store: Store) -> None:
    async with connected_payer(SPENT, {"cancel_when_ambiguous": True}) as played:
        await submit(store, played, 0)
        async with store.reading() as tx:
            assert (await tx.attempts.history(FIRST.claim_id)).answer_was_lost
        await submit(store, played, 1)
    async with store.reading() as tx:
        assert not (await tx.attempts.history(FIRST.claim_id)).answer_was_lost


async def submit(store: Store, played: ConnectedPayer, retry: int) -> Throw:
    """Deliver the claim's job, for its retry of that number."""
    cipher, claim_id = cipher_of(new_key("k1")), FIRST.claim_id
    sealed = seal_payload(cipher, claim_id, FIRST.content or b"")
    await store.run(lambda tx: tx.payloads.put(claim_id, sealed, now=NOW))
    channel = PayerChannel(payer(), played.client)
    payers = gateway_to({PAYER: channel}, store, WallClock())
    limits = LimitsByPayer({PAYER: PayerLimits(per_minute=None)})
    handler = submit_claim(services(store, payer=payers, payer_limits=limits, cipher=cipher))
    variables = {"claimId": claim_id, "payerId": PAYER, "retryCount": retry}
    outcome = await handler.handle(Job(retry + 1, handler.type, "Task", 1, 3, {}, variables))
    assert isinstance(outcome, Throw)
    return outcome


async def test_while_the_payer_cannot_be_asked_nothing_is_sent() -> None:
    async with connected_payer(LOST_ONCE, {"cancel_when_ambiguous": True}) as played:
        await gateway(played).send(FIRST, NOW)
        await played.simulator.stop_listening()
        assert isinstance(await gateway(played).send(AGAIN, NOW), Failed)
    assert played.verdicts == ["taken"]
