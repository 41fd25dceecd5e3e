"""Intake: a file becomes a claim, once, whatever breaks in between.

Row, file and journal are one commit, which files of one moment share; the message that starts the process
follows. When it does not, the claim stays RECEIVED: handing the file in again sends the message again, and so
does `start_received`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.ports import Clock
from domain.refusals import Refusal, conflict
from gateways.zeebe.commands import ZeebeCommands
from persistence.database.group_commit import GroupCommit
from persistence.encryption.cipher import Cipher, CipherError
from persistence.repositories.claims import Arrival, ClaimRow
from persistence.repositories.guides import kept_guides
from persistence.repositories.payloads import SealedFile, payload_context, seal_payload
from persistence.store import Store, Transaction
from workers.claims.batches import Batches
from workers.claims.corrections import Correction, replace_file
from workers.claims.examination import CheckedFile, ClaimFile, Reader
from workers.claims.finding import find_claim
from workers.claims.guides import guides_of
from workers.claims.messages import Ready, start
from workers.claims.receiving import Coming, Received, receive_all

LEFT_BEHIND = timedelta(minutes=1)
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class NewClaim:
    """A new claim; its process is on its way."""

    claim_id: ClaimId
    deadline: datetime


@dataclass(frozen=True, slots=True)
class KnownClaim:
    """The same claim with the same content was handed in before: nothing more happens.

    Unless its file had been sealed with a key that is not here: then it was `sealed_anew`.
    """

    claim_id: ClaimId
    state: ClaimState
    sealed_anew: bool = False


@dataclass(frozen=True, slots=True)
class Intake:
    """Takes claims in; those that come at the same moment share a commit."""

    store: Store
    commands: ZeebeCommands
    clock: Clock
    reader: Reader
    batches: Batches
    _receiving: GroupCommit[Coming, Received] = field(init=False)

    def __post_init__(self) -> None:
        group = GroupCommit(self._receive_all, key=lambda coming: coming.claim_id, watch=self.store.watch)
        object.__setattr__(self, "_receiving", group)

    @property
    def cipher(self) -> Cipher:
        """By which files are kept."""
        return self.batches.cipher

    async def submit(self, file: ClaimFile) -> NewClaim | KnownClaim:
        """Take a file in; a Refusal says what is wrong with it."""
        now = await self.clock.now()
        checked = await self._by_known_id(await self.reader.look_over(file, now))
        arrival, sealed = checked.arrival, await self._sealed(checked, file.data)
        guides = kept_guides(self.cipher, checked.examined.guide_numbers)
        known = await self._receiving.add(Coming(checked, sealed, guides, now))
        if isinstance(known, Refusal):
            raise known
        if known is None:
            await start(self.commands, Ready(arrival.claim_id, arrival.payer_id, arrival.deadline))
            return NewClaim(ClaimId(arrival.claim_id), arrival.deadline)
        _require_the_same(known, arrival)
        sealed_anew = await self._seal_anew(checked, sealed, now)
        if known.state is ClaimState.RECEIVED:
            await self._start_known(known, now)
        return KnownClaim(ClaimId(known.claim_id), known.state, sealed_anew)

    async def correct(self, claim_id: ClaimId, data: bytes) -> None:
        """Put a corrected file in the place of a claim's, while the claim is in review."""
        now = await self.clock.now()
        known = await find_claim(self.store, claim_id)
        file = ClaimFile(data, payer=known.payer_id, claim_id=claim_id.value, corrects=True)
        checked = await self.reader.look_over(file, now)
        sealed, guides = await self._sealed(checked, data), checked.examined.guide_numbers
        kept = kept_guides(self.cipher, guides)
        try:
            before, is_readable = await self._guides_before(claim_id), True
        except CipherError:
            before, is_readable = None, False
        correction = Correction(checked.arrival, sealed, guides, before, kept, is_readable)

        async def put_in_place(tx: Transaction) -> None:
            if checked.arrival.batch_number != known.batch_number:
                await self.batches.lock(tx, checked.examined.registro_ans, now)
                await self.batches.require_new(tx, checked)
            await replace_file(tx, correction, now)

        await self.store.run(put_in_place)

    async def start_received(self) -> int:
        """Start claims whose message got lost between our commit and the engine; how many there were."""
        now = await self.clock.now()
        waiting = await self.store.look(lambda tx: tx.claims.received(now - LEFT_BEHIND, AT_ONCE))
        started = 0
        for claim in waiting:
            started += await self._start_known(claim, now)
            await self.store.run(partial(_touch, claim_id=claim.claim_id, now=now))
        return started

    async def _by_known_id(self, checked: CheckedFile) -> CheckedFile:
        """The file under the id that its batch has from before our keys changed, if it has one."""
        for claim_id in checked.earlier_ids:
            if await self.store.look(partial(_is_known, claim_id=claim_id)):
                return replace(checked, arrival=replace(checked.arrival, claim_id=claim_id))
        return checked

    async def _sealed(self, checked: CheckedFile, data: bytes) -> SealedFile:
        return await asyncio.to_thread(seal_payload, self.cipher, checked.arrival.claim_id, data)

    async def _seal_anew(self, checked: CheckedFile, sealed: SealedFile, now: datetime) -> bool:
        """Put the file in the place of the same file under a key that is not here."""
        claim_id = checked.arrival.claim_id
        stored = await self.store.look(lambda tx: tx.payloads.find(claim_id))
        context = payload_context(claim_id)
        if stored is None or await asyncio.to_thread(self.cipher.opens, stored, context=context):
            return False
        return await self.store.run(lambda tx: self._replace(tx, checked, sealed, now))

    async def _replace(
        self, tx: Transaction, checked: CheckedFile, sealed: SealedFile, now: datetime
    ) -> bool:
        arrival, claim_id = checked.arrival, checked.arrival.claim_id
        claim = await tx.claims.find(claim_id)
        if claim is None or claim.content_hash != arrival.content_hash:  # corrected meanwhile
            return False
        await tx.payloads.put(claim_id, sealed, now=now)
        await tx.guides.keep(arrival, kept_guides(self.cipher, checked.examined.guide_numbers))
        await tx.journal.write(claim_id, "sealed_anew", "handed in again: its key was not here", now=now)
        return True

    async def _guides_before(self, claim_id: ClaimId) -> tuple[str, ...] | None:
        """The guides of the file that is kept; none is after retention."""
        earlier = await self.store.look(lambda tx: tx.payloads.opened(claim_id.value, self.cipher))
        return None if earlier is None else await asyncio.to_thread(guides_of, earlier)

    async def _start_known(self, claim: ClaimRow, now: datetime) -> bool:
        ready = Ready(claim.claim_id, claim.payer_id, claim.deadline)
        return await start(self.commands, ready, age=now - (claim.created_at or claim.updated_at))

    async def _receive_all(self, coming: Sequence[Coming]) -> Sequence[Received]:
        return await self.store.run(lambda tx: receive_all(tx, coming, self.batches))


async def _is_known(tx: Transaction, *, claim_id: str) -> bool:
    return await tx.claims.find(claim_id) is not None


async def _touch(tx: Transaction, *, claim_id: str, now: datetime) -> None:
    """So that claims which wait for a busy worker do not stand before those nobody has started."""
    await tx.claims.touch_received(claim_id, now=now)


def _require_the_same(known: ClaimRow, arrival: Arrival) -> None:
    if arrival.has_content(known.content_hash) and known.payer_id == arrival.payer_id:
        return
    review = f"`reenvio claim review {known.claim_id} CORRECTED --file FILE.xml`"
    raise conflict(
        "claimId",
        f"{known.claim_id} is known with other content",
        rule="one claim, one content",
        remedy=f"Correct it through its review ({review}), or give this file a number or an id of its own.",
    )
