"""The people of the demo: they decide reviews, cancel a claim, wake another."""

from bpmn.names import ReviewDecision
from domain.claim import ClaimId
from domain.claim_state import ClaimState
from gateways.payer.scripted import protocol_number
from persistence.claims import ClaimRow
from workers.claims import ClaimDesk
from workers.demo.samples import Sample


class People:
    """Each sample gets at most one word from a person, when its moment has come."""

    def __init__(self, desk: ClaimDesk, cast: dict[str, Sample]) -> None:
        self._desk = desk
        self._cast = cast
        self._spoken: set[str] = set()

    async def look_at(self, claim: ClaimRow) -> str | None:
        """What a person does about the claim now, in words; None for nothing."""
        sample = self._cast[claim.claim_id]
        if claim.claim_id in self._spoken:
            return None
        did = await self._speak(claim, sample)
        if did:
            self._spoken.add(claim.claim_id)
        return did

    async def _speak(self, claim: ClaimRow, sample: Sample) -> str | None:
        claim_id = ClaimId(claim.claim_id)
        if sample.person and claim.state is ClaimState.IN_REVIEW:
            return await self._decide(sample, sample.person)
        if sample.cancelled and claim.state is ClaimState.WAITING:
            await self._desk.cancel(claim_id)
            return "a person cancels the claim"
        if sample.woken and claim.state is ClaimState.WAITING and claim.retry_count >= 2:
            await self._desk.retry_now(claim_id)
            return "a person asks for a retry now"
        return None

    async def _decide(self, sample: Sample, decision: ReviewDecision) -> str:
        found = protocol_number(sample.claim_id) if decision is ReviewDecision.PROTOCOL_RECOVERED else None
        await self._desk.decide_review(ClaimId(sample.claim_id), decision, protocol_number=found)
        return f"a person decides {decision.replace('_', ' ').lower()}"
