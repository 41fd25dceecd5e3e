"""Reads what is handed in: whose it is, when it is due, whether it could be sent."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo

from persistence.repositories.claims import Arrival
from workers.claims.claim_ids import derived_claim_id, given_claim_id
from workers.claims.deadlines import read_deadline
from workers.claims.examination import Channels, ClaimFile, Examined, examine


@dataclass(frozen=True, slots=True)
class IntakeTerms:
    """How large a file may be, and how soon a claim that names no deadline is due."""

    max_bytes: int
    due_within: timedelta
    zone: tzinfo


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads files in a thread, one at a time: a validator keeps state. `channels` are the payers."""

    channels: Channels
    terms: IntakeTerms
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def look_over(self, parcel: ClaimFile, now: datetime) -> tuple[Examined, Arrival]:
        """What the file says and the claim it would be; a Refusal says what is wrong with it."""
        terms = self.terms
        given = given_claim_id(parcel.claim_id) if parcel.claim_id else None
        due = read_deadline(parcel.deadline, now, terms.zone) if parcel.deadline else now + terms.due_within
        async with self._turn:
            examined = await asyncio.to_thread(examine, parcel, self.channels, now, max_bytes=terms.max_bytes)
        payer, batch = examined.payer_id, examined.batch_number
        claim_id = given or derived_claim_id(examined.registro_ans, examined.provider, batch)
        return examined, Arrival(claim_id.value, payer, due, examined.digest, batch)
