"""Puts a corrected file in the place of a claim's, unless the payer has, or may have, the first."""

from dataclasses import dataclass
from datetime import datetime

from domain.corrections import BatchNumbers, not_in_review, require_correctable
from persistence.repositories.claims import Arrival
from persistence.repositories.guides import KeptGuides
from persistence.repositories.journal import CORRECTED
from persistence.repositories.payloads import SealedFile
from persistence.store import Transaction
from workers.claims.finding import whether_at_payer


@dataclass(frozen=True, slots=True)
class Correction:
    """A corrected file, sealed; with its guides and those of the file before, None when that is not kept.

    `kept` are its guides for storage. `is_readable` is False when the file before cannot be opened.
    """

    arrival: Arrival
    sealed: SealedFile
    guides: tuple[str, ...]
    earlier_guides: tuple[str, ...] | None
    kept: KeptGuides
    is_readable: bool = True


async def replace_file(tx: Transaction, correction: Correction, now: datetime) -> None:
    """Keep the corrected file; only while the claim is in review."""
    await _require_correctable(tx, correction)
    arrival = correction.arrival
    content, batch = arrival.content_hash, arrival.batch_number
    if not await tx.claims.correct(arrival.claim_id, content_hash=content, batch_number=batch):
        raise not_in_review(arrival.claim_id)
    await tx.payloads.put(arrival.claim_id, correction.sealed, now=now)
    await tx.guides.keep(arrival, correction.kept)
    await tx.journal.write(arrival.claim_id, CORRECTED, f"a new file, batch {batch}", now=now)


async def _require_correctable(tx: Transaction, correction: Correction) -> None:
    claim_id = correction.arrival.claim_id
    claim = await tx.claims.find(claim_id)
    number = claim.batch_number if claim else None
    before = BatchNumbers(number, correction.earlier_guides, correction.is_readable)
    after = BatchNumbers(correction.arrival.batch_number, correction.guides)
    require_correctable(claim_id, before, after, await whether_at_payer(tx, claim_id))
