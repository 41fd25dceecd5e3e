"""A cancellation ends the wait it was meant for, and no other."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.refusals import ClaimRefusal
from domain.reviews import ReviewDecision
from domain.submission import Accepted, Failed
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from persistence.store import Store
from tests.security.two_processes import CLAIM, CLOSE, DECIDE, FIRST, REVIEW, SEND, Desk
from tests.support.builders import later
from tests.support.faults.messages import MessageBroker, message_broker
from workers.claims.messages import ClaimMessages
from workers.runtime import Complete, Incident

FAILED = Failed("TIMEOUT - connection", "HTTP:408")


@dataclass
class Wish:
    """A claim at its desk, and what people say to it."""

    desk: Desk
    people: ClaimMessages
    broker: MessageBroker

    async def waits(self, retry: int = 0) -> None:
        """The claim is sent, fails and waits for its next time."""
        await self.desk.send(self.desk.job(SEND, FIRST, retryCount=retry), FAILED)
        await self.desk.do(self.desk.job(DECIDE, FIRST, submissionError="TIMEOUT", retryCount=retry))

    async def cancel(self) -> str | None:
        """Somebody cancels; the wait that the message names."""
        await self.people.cancel(ClaimId(CLAIM))
        named: str | None = json.loads(self.broker.taken[-1].variables)["cancelledWait"]
        return named


@pytest.fixture
async def wish(store: Store) -> AsyncIterator[Wish]:
    async with message_broker() as broker, open_channel(Plaintext(broker.address)) as channel:
        yield Wish(Desk(store), ClaimMessages(store, ZeebeCommands(channel)), broker)


async def test_a_cancellation_names_its_wait_as_the_process_knows_it(wish: Wish) -> None:
    await wish.desk.send(wish.desk.job(SEND, FIRST), FAILED)
    decided = await wish.desk.do(wish.desk.job(DECIDE, FIRST, submissionError="TIMEOUT", retryCount=0))
    assert isinstance(decided, Complete)
    assert await wish.cancel() == decided.variables["nextRetryTime"]


async def test_a_cancellation_in_review_names_the_review(wish: Wish) -> None:
    await wish.desk.send(wish.desk.job(SEND, FIRST), FAILED)
    await wish.desk.do(wish.desk.job(REVIEW, FIRST, reviewReason="PERMANENT_ERROR", reviewRound=2))
    assert await wish.cancel() == "review-2"


async def test_a_model_of_an_earlier_version_does_not_end_a_claim_that_was_sent_meanwhile(wish: Wish) -> None:
    await wish.waits()
    named = await wish.cancel()
    wish.desk.moment = later(minutes=7)  # its time came first: it is sent, and waits again
    await wish.waits(retry=1)
    closing = wish.desk.job(CLOSE, FIRST, outcome="CANCELLED", cancelledWait=named)
    outcome = await wish.desk.do(closing)
    assert isinstance(outcome, Incident)
    assert "was for an earlier wait" in outcome.message
    assert (await wish.desk.row()).state is ClaimState.WAITING


@pytest.mark.parametrize("named_by", ["our message", "another system's"])
async def test_the_wait_that_was_meant_is_ended(wish: Wish, named_by: str) -> None:
    await wish.waits()
    named = await wish.cancel()
    given = named if named_by == "our message" else None
    await wish.desk.do(wish.desk.job(CLOSE, FIRST, outcome="CANCELLED", cancelledWait=given))
    assert (await wish.desk.row()).state is ClaimState.CANCELLED


async def test_what_was_accepted_meanwhile_stays_accepted(wish: Wish) -> None:
    await wish.waits()
    named = await wish.cancel()
    await wish.desk.send(wish.desk.job(SEND, FIRST, retryCount=1), Accepted("P-1"))
    await wish.desk.do(wish.desk.job(CLOSE, FIRST, outcome="CANCELLED", cancelledWait=named))
    assert (await wish.desk.row()).state is ClaimState.ACCEPTED


async def test_people_are_told_that_the_payer_has_what_was_accepted_late(wish: Wish) -> None:
    first = await wish.desk.begin(wish.desk.job(SEND, FIRST))
    wish.desk.moment = later(minutes=6)
    await wish.desk.send(wish.desk.job(SEND, FIRST), FAILED)
    await wish.desk.do(wish.desk.job(REVIEW, FIRST, reviewReason="PERMANENT_ERROR"))
    wish.desk.payer.answer(1, Accepted("P-1"))
    await first
    with pytest.raises(ClaimRefusal, match="The payer has CLM-D-1"):
        await wish.people.cancel(ClaimId(CLAIM))
    with pytest.raises(ClaimRefusal, match="The payer has CLM-D-1"):
        await wish.people.decide_review(ClaimId(CLAIM), ReviewDecision.RESEND)
    assert wish.broker.taken == []
