"""What people may say to a claim: once per wait, nothing blind, and no text that is no number."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.operators import Attribution
from domain.refusals import ClaimRefusal
from domain.reviews import ReviewDecision, ReviewReason
from domain.submission import AnswerLost
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from gateways.zeebe.refusals import NoAnswerError
from persistence.repositories.attempts import AttemptResult
from persistence.repositories.reviews import Review
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.faults.messages import MessageBroker, message_broker
from workers.claims.messages import ClaimMessages
from workers.claims.ordering import Subject, ordered

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
CLAIM = ClaimId("CLM-DESK-1")
RECOVERED = ReviewDecision.PROTOCOL_RECOVERED


@dataclass(frozen=True, slots=True)
class Scene:
    """What may be asked of a claim, and the messages that leave."""

    messages: ClaimMessages
    store: Store
    broker: MessageBroker

    async def waits(self, minutes: int) -> None:
        until = later(minutes=minutes)
        async with self.store.transaction() as tx:
            await tx.claims.put(CLAIM.value, "p", ClaimState.WAITING, now=NOW, next_retry_time=until)

    async def is_in_review(self, reason: ReviewReason) -> None:
        async with self.store.transaction() as tx:
            await tx.claims.put(CLAIM.value, "p", ClaimState.FAILED, now=NOW)
            await tx.claims.move(CLAIM.value, ClaimState.IN_REVIEW, now=NOW)
            await tx.reviews.open(Review(CLAIM.value, 0, reason, None), job_key=1, now=NOW)

    async def was_sent(self, outcome: str | None) -> None:
        async with self.store.transaction() as tx:
            attempt = await tx.attempts.start(CLAIM.value, 1, now=NOW)
            if outcome:
                await tx.attempts.finish(CLAIM.value, attempt, AttemptResult(outcome), now=NOW)

    @property
    def said(self) -> list[str]:
        return [message.name for message in self.broker.taken]


@pytest.fixture
async def scene(store: Store) -> AsyncIterator[Scene]:
    async with message_broker() as broker, open_channel(Plaintext(broker.address)) as channel:
        yield Scene(ClaimMessages(store, ZeebeCommands(channel)), store, broker)


async def test_an_engine_that_does_not_answer_is_not_waited_for_and_no_order_says_refused(
    store: Store,
) -> None:
    given, subject = Attribution("maria", "a test"), Subject(CLAIM.value)
    async with message_broker() as broker, open_channel(Plaintext(broker.address)) as channel:
        broker.hangs = True
        messages = ClaimMessages(store, ZeebeCommands(channel, answer_seconds=0.2))
        await Scene(messages, store, broker).waits(5)
        with pytest.raises(NoAnswerError, match=r"retry-now: no answer within 0.2 s"):
            async with ordered(store, "retry-now", subject, given, NOW):
                await messages.retry_now(CLAIM)
    [order] = await store.look(lambda tx: tx.orders.newest(10))
    assert order.refused_at is None


async def test_a_wait_is_ended_once_and_the_next_one_is_another(scene: Scene) -> None:
    await scene.waits(5)
    assert await scene.messages.retry_now(CLAIM) is True
    assert await scene.messages.retry_now(CLAIM) is False
    assert scene.said == ["retry-now"]
    await scene.waits(15)
    assert await scene.messages.retry_now(CLAIM) is True
    assert len({message.messageId for message in scene.broker.taken}) == 2


async def test_a_wake_up_is_gone_before_the_next_wait(scene: Scene) -> None:
    await scene.waits(5)
    await scene.messages.retry_now(CLAIM)
    assert scene.broker.taken[0].timeToLive == 10_000


async def test_only_a_claim_that_waits_is_woken(scene: Scene) -> None:
    await scene.is_in_review(ReviewReason.PERMANENT_ERROR)
    with pytest.raises(ClaimRefusal, match="only while it is WAITING"):
        await scene.messages.retry_now(CLAIM)


@pytest.mark.parametrize("outcome", [None, AnswerLost.stored_as], ids=["no answer", "lost answer"])
async def test_what_the_payer_may_have_is_not_cancelled_unknowingly(
    scene: Scene, outcome: str | None
) -> None:
    await scene.was_sent(outcome)
    await scene.waits(5)
    with pytest.raises(ClaimRefusal, match=r"The payer may have CLM-DESK-1.* --although-sent"):
        await scene.messages.cancel(CLAIM)
    assert scene.said == []
    await scene.messages.cancel(CLAIM, although_sent=True)
    assert scene.said == ["claim-cancelled"]


async def test_what_the_payer_has_is_not_cancelled_unknowingly(scene: Scene) -> None:
    await scene.is_in_review(ReviewReason.PROTOCOL_MISSING)
    with pytest.raises(ClaimRefusal, match=r"The payer has CLM-DESK-1 .* PROTOCOL_RECOVERED or WRITE_OFF"):
        await scene.messages.cancel(CLAIM)
    await scene.messages.cancel(CLAIM, although_sent=True)
    assert scene.said == ["claim-cancelled"]


async def test_what_did_not_arrive_is_cancelled(scene: Scene) -> None:
    await scene.was_sent("FAILED")
    await scene.waits(5)
    await scene.messages.cancel(CLAIM)
    assert scene.said == ["claim-cancelled"]


@pytest.mark.parametrize("text", ["Maria Silva", "9" * 13, "1\n2"])
async def test_a_text_that_is_no_protocol_number_does_not_reach_the_engine(scene: Scene, text: str) -> None:
    await scene.is_in_review(ReviewReason.PROTOCOL_MISSING)
    with pytest.raises(ClaimRefusal, match="1 to 12 characters") as refused:
        await scene.messages.decide_review(CLAIM, RECOVERED, protocol_number=text)
    assert text not in str(refused.value)
    with pytest.raises(ClaimRefusal, match="needs the protocol number"):
        await scene.messages.decide_review(CLAIM, RECOVERED)
    with pytest.raises(ClaimRefusal, match="not for WRITE_OFF"):
        await scene.messages.decide_review(CLAIM, ReviewDecision.WRITE_OFF, protocol_number="900000000001")
    assert scene.said == []


async def test_a_protocol_number_does(scene: Scene) -> None:
    await scene.is_in_review(ReviewReason.PROTOCOL_MISSING)
    await scene.messages.decide_review(CLAIM, RECOVERED, protocol_number="900000000001")
    assert json.loads(scene.broker.taken[0].variables)["protocolNumber"] == "900000000001"
