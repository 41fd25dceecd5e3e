"""The people of the demo: they hand claims in, decide reviews, cancel a claim, wake another."""

from collections.abc import Iterable, Sequence

from bpmn.names import ReviewDecision
from domain.claim import ClaimId
from domain.claim_state import ClaimState
from gateways.practice.simulator.ledger import Ledger
from persistence.repositories.claims import ClaimRow
from workers.claims.examination import ClaimFile
from workers.claims.intake import Intake
from workers.claims.messages import ClaimMessages
from workers.demo.files import CORRECTED_CARD, batch_file
from workers.demo.payers import REGISTRO
from workers.demo.samples import Sample


class People:
    """A person acts on each sample at most once, when its moment has come."""

    def __init__(
        self, messages: ClaimMessages, intake: Intake, ledger: Ledger, samples: Sequence[Sample]
    ) -> None:
        self._messages = messages
        self._intake = intake
        self._ledger = ledger
        self._samples = {sample.claim_id: sample for sample in samples}
        self._done: set[str] = set()

    async def hand_in(self, samples: Iterable[Sample]) -> None:
        """Give the files of these samples to the intake."""
        for sample in samples:
            file = batch_file(sample.batch, REGISTRO[sample.payer_id])
            await self._intake.submit(ClaimFile(file, claim_id=sample.claim_id))

    async def look_at(self, claim: ClaimRow) -> str | None:
        """What a person does about the claim now, for people to read; None for nothing."""
        sample = self._samples[claim.claim_id]
        if claim.claim_id in self._done:
            return None
        did = await self._act(claim, sample)
        if did:
            self._done.add(claim.claim_id)
        return did

    async def _act(self, claim: ClaimRow, sample: Sample) -> str | None:
        claim_id = ClaimId(claim.claim_id)
        if sample.person and claim.state is ClaimState.IN_REVIEW:
            return await self._decide(claim_id, sample, sample.person)
        if sample.cancelled and claim.state is ClaimState.WAITING:
            await self._messages.cancel(claim_id)
            return "a person cancels the claim"
        if sample.woken and claim.state is ClaimState.WAITING and claim.retry_count >= 2:
            await self._messages.retry_now(claim_id)
            return "a person asks for a retry now"
        return None

    async def _decide(self, claim_id: ClaimId, sample: Sample, decision: ReviewDecision) -> str:
        registro, found = REGISTRO[sample.payer_id], None
        if decision is ReviewDecision.CORRECTED:
            await self._intake.correct(claim_id, batch_file(sample.batch, registro, card=CORRECTED_CARD))
        if decision is ReviewDecision.PROTOCOL_RECOVERED:
            found = self._ask_the_payer(registro, sample.batch)
        await self._messages.decide_review(claim_id, decision, protocol_number=found)
        return f"a person decides {decision.replace('_', ' ').lower()}"

    def _ask_the_payer(self, registro: str, batch: str) -> str | None:
        """The protocol, as a call to the payer would find it out."""
        taken = self._ledger.taken(registro, batch)
        return taken.protocol if taken else None
