"""Several corrected files at once: each finds its claim and takes the place of its file; what is bad is told.

What fits is kept with its claim at once, on record with who and why, and goes when the claims are released;
what does not fit leaves the others as they are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from domain.claim import CLAIM_ID_PATTERN, ClaimId
from domain.claim_state import ClaimState
from domain.operators import Attribution
from domain.refusals import ClaimRefusal, Refusal
from domain.reviews import AtPayer, ReviewDecision
from persistence.repositories.claims import ClaimRow
from persistence.store import Transaction
from workers.claims.examination import CheckedFile, ClaimFile, channels_to
from workers.claims.finding import whether_at_payer
from workers.claims.ordering import Subject, ordered
from workers.claims.reviewing import ClaimReviews

FILES_MOST = 100
CORRECT_FILE = "correct file"
_NAMED = re.compile(CLAIM_ID_PATTERN, re.ASCII)


class FileFate(StrEnum):
    """What became of a file; all but KEPT leave its claim as it is."""

    KEPT = "kept"
    REFUSED = "refused"
    UNMATCHED = "unmatched"
    SEVERAL = "several"
    TWICE = "twice"
    AT_PAYER = "at_payer"
    NOT_NOW = "not_now"


@dataclass(frozen=True, slots=True)
class HandedFile:
    """A file as somebody hands it in; what it holds is nobody else's to see."""

    name: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """What became of a file, of which claim, and what is wrong with it."""

    name: str
    fate: FileFate
    claim_id: str = ""
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class CorrectedFiles:
    """Puts corrected files in their claims' places, one after the other."""

    reviews: ClaimReviews

    async def keep_all(
        self, files: Sequence[HandedFile], payer: str | None, given: Attribution
    ) -> Sequence[JudgedFile]:
        """Keep what fits; `payer` is whose claims are meant, where a file does not say."""
        judged: list[JudgedFile] = []
        for file in files:
            taken = {one.claim_id for one in judged if one.fate is FileFate.KEPT}
            judged.append(await self._judged(file, payer, given, taken))
        return judged

    async def _judged(
        self, file: HandedFile, payer: str | None, given: Attribution, taken: set[str]
    ) -> JudgedFile:
        now = await self.reviews.clock.now()
        try:
            found = await self._found(file, payer, now)
            if len(found) != 1:
                return JudgedFile(file.name, FileFate.SEVERAL if found else FileFate.UNMATCHED)
            [claim] = found
            if claim.claim_id in taken:
                return JudgedFile(file.name, FileFate.TWICE, claim.claim_id)
            return JudgedFile(file.name, await self._kept(claim, file, given, now), claim.claim_id)
        except Refusal as refusal:
            return JudgedFile(file.name, FileFate.REFUSED, refusal=refusal)

    async def _found(self, file: HandedFile, payer: str | None, now: datetime) -> Sequence[ClaimRow]:
        """The claims in review that it may be of: by an id in its name, else by what it says itself."""
        named = _NAMED.search(file.name)
        if named:
            return await self.reviews.store.look(lambda tx: _in_review(tx, [named[0]]))
        checked = await self.reviews.intake.reader.look_over(ClaimFile(file.data, payer=payer), now)
        return await self.reviews.store.look(lambda tx: self._by_content(tx, checked))

    async def _by_content(self, tx: Transaction, checked: CheckedFile) -> Sequence[ClaimRow]:
        own = await _in_review(tx, [checked.arrival.claim_id, *checked.earlier_ids])
        if own:
            return own
        payers = channels_to(self.reviews.intake.batches.channels, checked.examined.registro_ans)
        same = await tx.claims.of_batch(payers, checked.arrival.batch_number)
        return [claim for claim in same if _waits_for_people(claim)]

    async def _kept(self, claim: ClaimRow, file: HandedFile, given: Attribution, now: datetime) -> FileFate:
        claim_id, store = ClaimId(claim.claim_id), self.reviews.store
        if await store.look(lambda tx: whether_at_payer(tx, claim.claim_id)) is not AtPayer.NO:
            return FileFate.AT_PAYER
        try:
            await self.reviews.messages.decidable(claim_id, ReviewDecision.CORRECTED)
            await self.reviews.look_over(claim_id, file.data)
            async with ordered(store, CORRECT_FILE, Subject(claim.claim_id), given, now):
                await self.reviews.intake.correct(claim_id, file.data)
        except ClaimRefusal:
            return FileFate.NOT_NOW
        return FileFate.KEPT


async def _in_review(tx: Transaction, claim_ids: Sequence[str]) -> Sequence[ClaimRow]:
    found = [await tx.claims.find(claim_id) for claim_id in claim_ids]
    return [claim for claim in found if claim and _waits_for_people(claim)]


def _waits_for_people(claim: ClaimRow) -> bool:
    return claim.state is ClaimState.IN_REVIEW and claim.incident is None
