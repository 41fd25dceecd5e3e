"""The jobs that want to send claims to one payer in one transaction, and what is on record of the claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from domain.claim_state import ClaimState
from domain.payer_status import PayerLimits
from domain.permission import OfAnother
from domain.submission import Submission
from domain.verdicts import Candidate, NoPlace
from persistence.encryption.cipher import Cipher
from persistence.repositories.attempts import History
from persistence.repositories.claims import ClaimRow
from persistence.repositories.idempotency import StartedOperation
from persistence.repositories.journal import JournalNote
from persistence.store import Transaction
from workers.jobs.held_job import held_job
from workers.jobs.once import Once, Remembered, Start
from workers.payers.admission import LockedPayer, locked
from workers.runtime.job import Job
from workers.runtime.outcome import Outcome

MAY_BE_UNDER_WAY = frozenset({ClaimState.SUBMITTING, ClaimState.IN_REVIEW})


@dataclass(frozen=True, slots=True)
class AskedSend:
    """A job that wants to send a claim."""

    job: Job
    claim: Candidate
    now: datetime


@dataclass(frozen=True, slots=True)
class Begun:
    """A send that is on record as begun; it may leave at its moment, if it has one."""

    submission: Submission
    at: datetime | None
    operation: StartedOperation | None


@dataclass(frozen=True, slots=True)
class PayerDiffers:
    """The claim was handed in for another payer than the job names."""

    payer_id: str


Beginning = Begun | PayerDiffers | NoPlace | OfAnother | Outcome


@dataclass(frozen=True, slots=True)
class BeginningTerms:
    """What a send at this payer begins by."""

    limits: PayerLimits
    once: Once | None
    cipher: Cipher | None
    practice: bool


@dataclass(frozen=True, slots=True)
class ClaimOnRecord:
    """What is on record of a claim."""

    row: ClaimRow | None
    history: History
    under_way: datetime | None


@dataclass(frozen=True, slots=True)
class NotSent:
    """What a job is told that does not send, and where that takes its claim."""

    told: Outcome | OfAnother | PayerDiffers | NoPlace
    claim: ClaimRow | None = None
    line: JournalNote | None = None


@dataclass(slots=True)
class SendGroup:
    """The jobs of one transaction whose claims are ours, and what each is told so far."""

    tx: Transaction
    asked: Sequence[AskedSend]
    terms: BeginningTerms
    payer: LockedPayer
    known: Mapping[str, ClaimOnRecord]
    starts: Mapping[str, Start | Remembered]
    told: dict[str, NotSent] = field(default_factory=dict)
    going: dict[str, datetime | None] = field(default_factory=dict)

    def row(self, one: AskedSend, state: ClaimState, **changes: object) -> ClaimRow:
        """The claim as it stands now, in its process's hands; one that nobody handed in begins here."""
        claim, now = one.claim, one.now
        known = self.known[claim.claim_id].row
        new = ClaimRow(claim.claim_id, claim.payer_id, state, 0, None, None, None, now, created_at=now)
        own = {"payer_id": claim.payer_id, "process_instance_key": one.job.process_instance_key}
        return (known or new).moved(state, now=now, **(own | changes)).in_hands_of(held_job(one.job))


async def looked_up(tx: Transaction, asked: Sequence[AskedSend], terms: BeginningTerms) -> SendGroup:
    """Lock the payer, then the claims, and read what is known of them; those that are held stay out."""
    now, ids = max(one.now for one in asked), [one.claim.claim_id for one in asked]
    payer = await locked(tx, asked[0].claim.payer_id, terms.limits, now)
    found = await tx.claims.lock_free(ids)
    asked = [one for one in asked if one.claim.claim_id not in found.held]
    rows, ids = found.rows, [one.claim.claim_id for one in asked]
    histories = await tx.attempts.histories(ids)
    asking = [id_ for id_, row in rows.items() if row.state in MAY_BE_UNDER_WAY]
    running = await tx.payers.sends_under_way(asking, now=now) if asking else {}
    known = {id_: ClaimOnRecord(rows.get(id_), histories[id_], running.get(id_)) for id_ in ids}
    jobs = {one.claim.claim_id: one.job for one in asked}
    starts = await terms.once.standing(tx, jobs, now) if terms.once else {}
    return SendGroup(tx, asked, terms, payer, known, starts)
