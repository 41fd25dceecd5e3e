"""The intake desk: a file becomes a claim, once, whatever breaks in between.

Row, file and journal are one commit; the message that starts the process follows. When it does not, the
claim stays RECEIVED: handing the file in again sends the message again, and so does `start_received`.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.outputs import iso_time
from domain.ports import Clock
from gateways.zeebe.commands import ZeebeCommands
from persistence.encryption.cipher import Cipher
from persistence.repositories.claims import Arrival, ClaimRow
from persistence.repositories.payloads import seal_payload
from persistence.store import Store, Transaction
from workers.claims.batches import Batches
from workers.claims.corrections import Correction, replace_file, same_guides
from workers.claims.examination import ClaimFile, Examined
from workers.claims.messages import unknown_claim
from workers.claims.reader import Reader
from workers.claims.refusal import conflict
from workers.claims.starting import Ready, ready, start

LEFT_BEHIND = timedelta(minutes=1)
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class NewClaim:
    """A new claim; its process is on its way."""

    claim_id: ClaimId
    deadline: datetime


@dataclass(frozen=True, slots=True)
class KnownClaim:
    """The same claim with the same content was handed in before: nothing more happens."""

    claim_id: ClaimId
    state: ClaimState


@dataclass(frozen=True, slots=True)
class Intake:
    """Takes claims in."""

    store: Store
    commands: ZeebeCommands
    clock: Clock
    cipher: Cipher
    reader: Reader

    async def submit(self, parcel: ClaimFile) -> NewClaim | KnownClaim:
        """Take a file in; a Refusal says what is wrong with it."""
        now = await self.clock.now()
        examined, arrival = await self.reader.look_over(parcel, now)
        sealed = await asyncio.to_thread(seal_payload, self.cipher, arrival.claim_id, parcel.data)
        known = await self.store.run(lambda tx: self._receive(tx, arrival, examined, sealed, now))
        if known is None:
            claim = Ready(arrival.claim_id, arrival.payer_id, arrival.deadline, now)
            await start(self.commands, claim, now)
            return NewClaim(ClaimId(arrival.claim_id), arrival.deadline)
        _require_the_same(known, arrival)
        if known.state is ClaimState.RECEIVED:
            await start(self.commands, ready(known), now)
        return KnownClaim(ClaimId(known.claim_id), known.state)

    async def correct(self, claim_id: ClaimId, data: bytes) -> None:
        """Put a corrected file in the place of a claim's, while the claim is in review."""
        now = await self.clock.now()
        known = await self.store.look(lambda tx: tx.claims.find(claim_id.value))
        if known is None:
            raise unknown_claim(claim_id)
        parcel = ClaimFile(data, payer=known.payer_id, claim_id=claim_id.value)
        examined, arrival = await self.reader.look_over(parcel, now)
        sealed = await asyncio.to_thread(seal_payload, self.cipher, claim_id.value, data)
        correction = Correction(arrival, sealed, await self._keeps_guides(claim_id, data))

        async def replace(tx: Transaction) -> None:
            if arrival.batch_number != known.batch_number:
                await self._batches.require_new(tx, arrival, examined, now)
            await replace_file(tx, correction, now)

        await self.store.run(replace)

    async def _keeps_guides(self, claim_id: ClaimId, data: bytes) -> bool:
        """Whether a file holds the guides of the one in its place; none is there after retention."""
        earlier = await self.store.look(lambda tx: tx.payloads.opened(claim_id.value, self.cipher))
        return earlier is None or await asyncio.to_thread(same_guides, earlier, data)

    async def start_received(self) -> int:
        """Start claims whose message got lost between our commit and the engine; how many there were."""
        now = await self.clock.now()
        waiting = await self.store.look(lambda tx: tx.claims.received(now - LEFT_BEHIND, AT_ONCE))
        started = 0
        for claim in waiting:
            started += await start(self.commands, ready(claim), now)
            await self.store.run(partial(_touch, claim_id=claim.claim_id, now=now))
        return started

    async def _receive(
        self, tx: Transaction, arrival: Arrival, examined: Examined, sealed: str, now: datetime
    ) -> ClaimRow | None:
        """Keep a new claim; the one that is known already, if any."""
        known = await tx.claims.find(arrival.claim_id)
        if known is None:
            await self._batches.require_new(tx, arrival, examined, now)
            await tx.claims.receive(arrival, now=now)
            await tx.payloads.put(arrival.claim_id, sealed, now=now)
            due = iso_time(arrival.deadline)
            detail = f"batch {examined.batch_number}, guides: {examined.guides}, due {due}"
            await tx.journal.write(arrival.claim_id, "received", detail, now=now)
        return known

    @property
    def _batches(self) -> Batches:
        return Batches(self.reader.channels, self.cipher)


async def _touch(tx: Transaction, *, claim_id: str, now: datetime) -> None:
    """So that claims which wait for a busy worker do not stand before those nobody has started."""
    await tx.claims.touch_received(claim_id, now=now)


def _require_the_same(known: ClaimRow, arrival: Arrival) -> None:
    if (known.content_hash, known.payer_id) == (arrival.content_hash, arrival.payer_id):
        return
    review = f"`reenvio claim review {known.claim_id} CORRECTED --file FILE.xml`"
    raise conflict(
        "claimId",
        f"{known.claim_id} is known with other content",
        rule="one claim, one content",
        remedy=f"Correct it through its review ({review}), or give this file a number or an id of its own.",
    )
