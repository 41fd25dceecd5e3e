"""Files of one moment become claims in one transaction; most are new, and are written table by table."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from domain.outputs import iso_time
from domain.refusals import Refusal
from persistence.encryption.cipher import Cipher
from persistence.repositories.claims import ClaimRow
from persistence.repositories.guides import KeptGuides, kept_guides
from persistence.repositories.journal import JournalNote
from persistence.repositories.payloads import SealedFile, seal_payload
from persistence.store import Transaction
from workers.claims.batches import Batches, Providers, UnreadFilesError, kept_file
from workers.claims.examination import CheckedFile


@dataclass(frozen=True, slots=True)
class Unsealed:
    """A file that was looked over and is still in clear."""

    checked: CheckedFile
    data: bytes = field(repr=False)
    now: datetime

    @property
    def claim_id(self) -> str:
        """Under which it is to be known."""
        return self.checked.arrival.claim_id

    def sealed(self, cipher: Cipher) -> "Coming":
        """The file as it is kept; it blocks for as long as the file is large."""
        guides = kept_guides(cipher, self.checked.examined.guide_numbers)
        return Coming(self.checked, seal_payload(cipher, self.claim_id, self.data), guides, self.now)


@dataclass(frozen=True, slots=True)
class Coming:
    """A file that is to become a claim."""

    checked: CheckedFile
    sealed: SealedFile
    guides: KeptGuides
    now: datetime

    @property
    def claim_id(self) -> str:
        """Under which it is to be known."""
        return self.checked.arrival.claim_id

    @property
    def batch(self) -> tuple[str, str]:
        """Its payer and number, which one other may have all the same: numbers are a provider's."""
        return self.checked.examined.registro_ans, self.checked.arrival.batch_number

    @property
    def line(self) -> JournalNote:
        """What its story begins with."""
        arrival, examined = self.checked.arrival, self.checked.examined
        due = iso_time(arrival.deadline)
        detail = f"batch {examined.batch_number}, guides: {examined.guides}, due {due}"
        return JournalNote(self.claim_id, self.now, "received", detail)


Received = ClaimRow | Refusal | None
"""The claim that it is already, what is against it, or nothing: then it is a new one."""


async def receive_all(
    tx: Transaction, coming: Sequence[Coming], batches: Batches, read: Providers
) -> Sequence[Received]:
    """Keep new claims; no two of the same id come together."""
    await _lock_payers(tx, coming, batches)
    known = await tx.claims.lock_all([one.claim_id for one in coming])
    new = [one for one in coming if one.claim_id not in known]
    plain = await _of_unknown_batches(tx, new, batches)
    if plain:
        await _keep(tx, plain)
    told: dict[str, Received] = {**known} | {one.claim_id: None for one in plain}
    unread: list[ClaimRow] = []
    for one in new:
        if one.claim_id not in told:
            try:
                told[one.claim_id] = await _received(tx, one, batches, read)
            except UnreadFilesError as needed:
                unread += needed.claims
    if unread:
        raise UnreadFilesError(unread)
    return [told[one.claim_id] for one in coming]


def providers_of(coming: Sequence[Coming]) -> Providers:
    """Whose batches these files are: they have been read."""
    return {kept_file(one.checked.arrival): one.checked.examined.provider for one in coming}


async def _lock_payers(tx: Transaction, coming: Sequence[Coming], batches: Batches) -> None:
    """In the order of their numbers; two that come at once wait for each other here."""
    for registro_ans in sorted({one.checked.examined.registro_ans for one in coming}):
        await batches.lock(tx, registro_ans, max(one.now for one in coming))


async def _of_unknown_batches(
    tx: Transaction, coming: Sequence[Coming], batches: Batches
) -> Sequence[Coming]:
    """Those whose number no other claim has, here or on record."""
    here = Counter(one.batch for one in coming)
    taken = {batch for batch, number in here.items() if number > 1}
    for registro_ans, numbers in _numbers(coming).items():
        on_record = await batches.known_numbers(tx, registro_ans, numbers)
        taken |= {(registro_ans, number) for number in on_record}
    return [one for one in coming if one.batch not in taken]


def _numbers(coming: Sequence[Coming]) -> Mapping[str, list[str]]:
    numbers: dict[str, list[str]] = {}
    for one in coming:
        numbers.setdefault(one.checked.examined.registro_ans, []).append(one.checked.arrival.batch_number)
    return numbers


async def _received(tx: Transaction, coming: Coming, batches: Batches, read: Providers) -> Refusal | None:
    """A refusal comes before anything is kept: the others of the commit need not know."""
    try:
        await batches.require_new(tx, coming.checked, read)
    except Refusal as refused:
        return refused
    await _keep(tx, [coming])
    return None


async def _keep(tx: Transaction, coming: Sequence[Coming]) -> None:
    await tx.claims.receive_all([(one.checked.arrival, one.now) for one in coming])
    await tx.payloads.put_new([(one.claim_id, one.sealed, one.now) for one in coming])
    await tx.guides.keep_new([(one.checked.arrival, one.guides) for one in coming])
    await tx.journal.write_several([one.line for one in coming])
