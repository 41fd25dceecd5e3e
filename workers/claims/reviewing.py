"""What people do about a claim in review, whoever asks: take it, note something, decide; on record."""

from dataclasses import dataclass, field

from domain.access import Permission
from domain.claim import ClaimId
from domain.operators import Attribution, review_action
from domain.ports import Clock
from domain.refusals import ClaimRefusal
from domain.reviews import ReviewDecision
from persistence.repositories.claims import ClaimRow
from persistence.store import Store, Transaction
from workers.claims.confirmation import confirmed
from workers.claims.examination import ClaimFile
from workers.claims.finding import find_claim
from workers.claims.intake import Intake
from workers.claims.messages import KEEP_WISH, ClaimMessages
from workers.claims.ordering import Subject, ordered
from workers.claims.protocols import Protocols

ASSIGN, NOTE = "review assign", "review note"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What somebody decides; a protocol that is `unchecked` is taken as given, since they saw the receipt.

    A file is for CORRECTED; without one the claim's own goes out again.
    """

    decision: ReviewDecision
    protocol: str | None = None
    unchecked: bool = False
    file: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ClaimReviews:
    """Carries decisions out, and waits for what comes of them."""

    store: Store
    messages: ClaimMessages
    intake: Intake
    protocols: Protocols
    clock: Clock

    async def decide(
        self, claim_id: ClaimId, verdict: Verdict, given: Attribution, *, patient: bool = True
    ) -> ClaimRow:
        """Hand a decision to the claim's process; the claim after that.

        Nothing is on record of a decision that the review does not allow, or of a file that cannot be sent.
        Without patience nobody waits for what comes after the claim's first step.
        """
        await self.messages.decidable(claim_id, verdict.decision)
        if verdict.file is not None:
            await self.look_over(claim_id, verdict.file)
        action, now = review_action(verdict.decision, unchecked=verdict.unchecked), await self.clock.now()
        async with ordered(self.store, action, Subject(str(claim_id)), given, now) as order_id:
            if verdict.file is not None:
                await self.intake.correct(claim_id, verdict.file)
            number = await self._protocol(claim_id, verdict)
            before = await find_claim(self.store, claim_id)
            await self.messages.decide_review(
                claim_id, verdict.decision, protocol_number=number, order_id=order_id
            )
            return await confirmed(self.store, before, kept=KEEP_WISH, patient=patient)

    async def assign(self, claim_id: ClaimId, login: str, given: Attribution) -> None:
        """Give the claim's open review to somebody."""
        now = await self.clock.now()
        review_id = await self.store.look(lambda tx: tx.review_desk.open_review(str(claim_id)))
        if review_id is None:
            raise ClaimRefusal(f"{claim_id} waits for nobody's decision.")
        async with ordered(self.store, ASSIGN, Subject(str(claim_id)), given, now):
            await self.store.run(lambda tx: tx.review_desk.assign(review_id, str(claim_id), login, now=now))

    async def note(self, claim_id: ClaimId, given: Attribution) -> None:
        """Keep what somebody wants colleagues to know of a claim: the reason is the note."""
        await find_claim(self.store, claim_id)
        async with ordered(self.store, NOTE, Subject(str(claim_id)), given, await self.clock.now()):
            pass

    async def look_over(self, claim_id: ClaimId, data: bytes) -> None:
        """Refuse a corrected file that could not be sent in the claim's place."""
        known = await find_claim(self.store, claim_id)
        file = ClaimFile(data, payer=known.payer_id, claim_id=claim_id.value, corrects=True)
        await self.intake.reader.look_over(file, await self.clock.now())

    async def _protocol(self, claim_id: ClaimId, verdict: Verdict) -> str | None:
        if verdict.decision is not ReviewDecision.PROTOCOL_RECOVERED or verdict.unchecked:
            return verdict.protocol
        return await self.protocols.recovered(claim_id, verdict.protocol)


async def may_take(tx: Transaction, login: str) -> bool:
    """Whether somebody of this login may be given a review."""
    person = await tx.people.find(login)
    if person is None or person.disabled_at is not None:
        return False
    return Permission.HANDLE_REVIEWS in person.permissions
