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
from persistence.repositories.payloads import payload_context
from persistence.store import Store, Transaction
from workers.claims.batches import Batches, Providers
from workers.claims.corrections import Correction, replace_file
from workers.claims.examination import CheckedFile, ClaimFile, Reader
from workers.claims.finding import find_claim
from workers.claims.guides import guides_of
from workers.claims.messages import Ready, start
from workers.claims.receiving import Coming, Received, Unsealed, providers_of, receive_all

LEFT_BEHIND = timedelta(minutes=1)
AT_ONCE = 500
MESSAGES_AT_ONCE = 16
"""A broker that had just started refused some of 125 at once for longer than we ask again."""


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
    _receiving: GroupCommit[Unsealed, Received] = field(init=False)
    _messages: asyncio.Semaphore = field(
        init=False, default_factory=lambda: asyncio.Semaphore(MESSAGES_AT_ONCE)
    )

    def __post_init__(self) -> None:
        group = GroupCommit(self._receive_all, key=lambda one: one.claim_id, watch=self.store.watch)
        object.__setattr__(self, "_receiving", group)

    @property
    def cipher(self) -> Cipher:
        """By which files are kept."""
        return self.batches.cipher

    async def submit(self, file: ClaimFile) -> NewClaim | KnownClaim:
        """Take a file in; a Refusal says what is wrong with it."""
        now = await self.clock.now()
        checked = await self._by_known_id(await self.reader.look_over(file, now))
        arrival, unsealed = checked.arrival, Unsealed(checked, file.data, now)
        known = await self._receiving.add(unsealed)
        if isinstance(known, Refusal):
            raise known
        if known is None:
            await self._start(Ready(arrival.claim_id, arrival.payer_id, arrival.deadline))
            return NewClaim(ClaimId(arrival.claim_id), arrival.deadline)
        _require_the_same(known, arrival)
        sealed_anew = await self._seal_anew(unsealed)
        if known.state is ClaimState.RECEIVED:
            await self._start_known(known, now)
        return KnownClaim(ClaimId(known.claim_id), known.state, sealed_anew)

    async def correct(self, claim_id: ClaimId, data: bytes) -> None:
        """Put a corrected file in the place of a claim's, while the claim is in review."""
        now = await self.clock.now()
        known = await find_claim(self.store, claim_id)
        file = ClaimFile(data, payer=known.payer_id, claim_id=claim_id.value, corrects=True)
        checked = await self.reader.look_over(file, now)
        coming = await asyncio.to_thread(Unsealed(checked, data, now).sealed, self.cipher)
        try:
            before, is_readable = await self._guides_before(claim_id), True
        except CipherError:
            before, is_readable = None, False
        guides = checked.examined.guide_numbers
        correction = Correction(checked.arrival, coming.sealed, guides, before, coming.guides, is_readable)

        async def put_in_place(tx: Transaction, read: Providers) -> None:
            if checked.arrival.batch_number != known.batch_number:
                await self.batches.lock(tx, checked.examined.registro_ans, now)
                await self.batches.require_new(tx, checked, read)
            await replace_file(tx, correction, now)

        await self.batches.run(self.store, put_in_place)

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

    async def _seal_anew(self, file: Unsealed) -> bool:
        """Put the file in the place of the same file under a key that is not here."""
        claim_id = file.claim_id
        stored = await self.store.look(lambda tx: tx.payloads.find(claim_id))
        context = payload_context(claim_id)
        if stored is None or await asyncio.to_thread(self.cipher.opens, stored, context=context):
            return False
        coming = await asyncio.to_thread(file.sealed, self.cipher)
        return await self.store.run(lambda tx: _replace(tx, coming))

    async def _guides_before(self, claim_id: ClaimId) -> tuple[str, ...] | None:
        """The guides of the file that is kept; none is after retention."""
        earlier = await self.store.look(lambda tx: tx.payloads.opened(claim_id.value, self.cipher))
        return None if earlier is None else await asyncio.to_thread(guides_of, earlier)

    async def _start_known(self, claim: ClaimRow, now: datetime) -> bool:
        ready = Ready(claim.claim_id, claim.payer_id, claim.deadline)
        return await self._start(ready, age=now - (claim.created_at or claim.updated_at))

    async def _start(self, claim: Ready, *, age: timedelta = timedelta()) -> bool:
        async with self._messages:
            return await start(self.commands, claim, age=age)

    async def _receive_all(self, files: Sequence[Unsealed]) -> Sequence[Received]:
        coming = await asyncio.to_thread(lambda: [file.sealed(self.cipher) for file in files])

        async def receive(tx: Transaction, read: Providers) -> Sequence[Received]:
            return await receive_all(tx, coming, self.batches, read)

        return await self.batches.run(self.store, receive, providers_of(coming))


async def _replace(tx: Transaction, coming: Coming) -> bool:
    arrival, claim_id, now = coming.checked.arrival, coming.claim_id, coming.now
    claim = await tx.claims.find(claim_id)
    if claim is None or claim.content_hash != arrival.content_hash:  # corrected meanwhile
        return False
    await tx.payloads.put(claim_id, coming.sealed, now=now)
    await tx.guides.keep(arrival, coming.guides)
    await tx.journal.write(claim_id, "sealed_anew", "handed in again: its key was not here", now=now)
    return True


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
