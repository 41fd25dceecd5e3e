"""Begins sends: claims of one moment that want to go to one payer, in one transaction.

It looks under each claim's lock, which follows its payer's, whether the job may send: no claim that has
ended, none that another process sends, none while a send of it is under way, and to the payer it was handed
in for. What it decides about one claim is a value; all is written at the end, table by table.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from domain.claim_state import ClaimState
from domain.decision import HELD_TO_DEADLINE
from domain.payer_status import PayerLimits, PayerState
from domain.permission import AlreadyAccepted, Ended, OfAnother, sending_bar
from domain.redaction import redact
from domain.slots import latest
from domain.submission import AccessDenied, Submission
from domain.verdicts import Candidate, Go, Hold, Stop
from persistence.encryption.cipher import Cipher
from persistence.repositories.attempts import History, Leaving
from persistence.repositories.claims import ClaimRow
from persistence.repositories.idempotency import StartedOperation
from persistence.repositories.journal import JournalNote
from persistence.repositories.outbox import OutboxEvent
from persistence.repositories.payers import UnderWay
from persistence.repositories.payloads import open_payload
from persistence.store import Transaction
from workers.jobs.facts import accepted_by_payer, resent_after_review
from workers.jobs.held import held as held_job
from workers.jobs.once import Once, Remembered, Start
from workers.jobs.send_result import (
    accepted,
    access_denied,
    deadline_near,
    for_real_payers_only,
    held,
    not_sent,
    stored_answer,
)
from workers.jobs.sending import ASK_AGAIN, under_way
from workers.payers.admission import Admission, LockedPayer, locked
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Incident, Outcome, Postpone

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


Beginning = Begun | PayerDiffers | OfAnother | Outcome


class NothingBeginsError(Exception):
    """Undoes what was looked up at a payer that nobody's claim was handed in for; says what each is told."""

    def __init__(self, told: Sequence[Beginning]) -> None:
        super().__init__()
        self.told = told


@dataclass(frozen=True, slots=True)
class BeginningTerms:
    """What a send at this payer begins by."""

    limits: PayerLimits
    once: Once | None
    cipher: Cipher | None
    practice: bool


@dataclass(frozen=True, slots=True)
class _Known:
    """What is on record of a claim."""

    row: ClaimRow | None
    history: History
    under_way: datetime | None


@dataclass(frozen=True, slots=True)
class _Told:
    """What a job is told that does not send, and where that takes its claim."""

    told: Outcome | OfAnother | PayerDiffers
    claim: ClaimRow | None = None
    line: JournalNote | None = None


@dataclass(slots=True)
class _Group:
    """The jobs of one transaction, and what each is told so far."""

    tx: Transaction
    asked: Sequence[AskedSend]
    terms: BeginningTerms
    payer: LockedPayer
    known: Mapping[str, _Known]
    starts: Mapping[str, Start | Remembered]
    told: dict[str, _Told] = field(default_factory=dict)
    going: dict[str, datetime | None] = field(default_factory=dict)


async def begin_all(
    tx: Transaction, asked: Sequence[AskedSend], terms: BeginningTerms
) -> Sequence[Beginning]:
    """Let each claim leave or wait, or say what else; jobs of one claim never come together."""
    group = await _looked_up(tx, asked, terms)
    for one in asked:
        if (told := await _told_at_once(group, one)) is not None:
            group.told[one.claim.claim_id] = told
    if all(_differs(group, one) for one in asked):
        raise NothingBeginsError([group.told[one.claim.claim_id].told for one in asked])
    await _admit(group)
    return await _written(group)


def _differs(group: _Group, one: AskedSend) -> bool:
    told = group.told.get(one.claim.claim_id)
    return told is not None and isinstance(told.told, PayerDiffers)


async def _looked_up(tx: Transaction, asked: Sequence[AskedSend], terms: BeginningTerms) -> _Group:
    now, ids = max(one.now for one in asked), [one.claim.claim_id for one in asked]
    payer = await locked(tx, asked[0].claim.payer_id, terms.limits, now)
    rows, histories = await tx.claims.lock_all(ids), await tx.attempts.histories(ids)
    asking = [id_ for id_, row in rows.items() if row.state in MAY_BE_UNDER_WAY]
    running = await tx.payers.sends_under_way(asking, now=now) if asking else {}
    known = {id_: _Known(rows.get(id_), histories[id_], running.get(id_)) for id_ in ids}
    jobs = {one.claim.claim_id: one.job for one in asked}
    starts = await terms.once.standing(tx, jobs, now) if terms.once else {}
    return _Group(tx, asked, terms, payer, known, starts)


async def _told_at_once(group: _Group, one: AskedSend) -> _Told | None:
    """What a job is told without asking its payer's breaker; None when it wants to go."""
    claim_id, known = one.claim.claim_id, group.known[one.claim.claim_id]
    start = group.starts.get(claim_id)
    if isinstance(start, Remembered):
        return _Told(start.told)
    row = known.row
    if row and row.content_hash and row.payer_id != one.claim.payer_id:
        return _Told(PayerDiffers(row.payer_id))
    barred = _barred(one, row, known.history) if row else None
    if barred and isinstance(barred.told, Complete):
        return barred
    if answer := _known_answer(group, one, known.history):
        return _Told(answer)
    if group.terms.practice and await group.tx.claims.was_handed_in(claim_id):
        return _Told(for_real_payers_only(claim_id))
    return barred or (await _must_wait(group, one, row) if row else None)


def _barred(one: AskedSend, row: ClaimRow, history: History) -> _Told | None:
    """What the claim, or its process, has against the send."""
    match sending_bar(row.standing(_accepted_as(row, history)), one.job.process_instance_key):
        case AlreadyAccepted(protocol):
            return _Told(accepted(protocol), _ended_as_accepted(one, row))
        case Ended(state):
            return _Told(_never_sent(row.claim_id, state))
        case OfAnother() as other:
            return _Told(other)
        case None:
            return None


def _accepted_as(row: ClaimRow, history: History) -> str | None:
    """The number of an acceptance that stands; one that came while a person had the claim counts too."""
    if row.state.is_final or row.protocol_number is None:
        return row.protocol_number if row.state is ClaimState.ACCEPTED else None
    return history.protocol_beside(row.protocol_number)


def _ended_as_accepted(one: AskedSend, row: ClaimRow) -> ClaimRow | None:
    is_own = row.process_instance_key in (None, one.job.process_instance_key)
    ends = is_own and not row.state.is_final
    return row.moved(ClaimState.ACCEPTED, now=one.now, reason=None) if ends else None


def _known_answer(group: _Group, one: AskedSend, history: History) -> Outcome | None:
    """The answer of an earlier delivery; refused credentials hold for as long as nobody has resumed."""
    earlier, status = history.of_job(one.job.key), group.payer.breaker.status
    if earlier is None:
        return None
    if earlier.result is not None:
        return stored_answer(earlier.result, earlier.started_at)
    if earlier.outcome == AccessDenied.stored_as and status.state is PayerState.STOPPED:
        return access_denied(one.claim.payer_id, status.reason)
    return None


async def _must_wait(group: _Group, one: AskedSend, row: ClaimRow) -> _Told | None:
    """Whether a send of the claim may be under way, or a person has it whom the job does not know of."""
    sending = group.known[row.claim_id].under_way is not None
    if sending and (wait := await under_way(group.tx, row, one.now, longest=group.terms.limits.lease)):
        return _Told(wait)
    if row.state is ClaimState.IN_REVIEW and await _is_from_before_the_review(group.tx, one):
        return _Told(Postpone(f"{row.claim_id} is in review since this job was created", ASK_AGAIN))
    return None


async def _is_from_before_the_review(tx: Transaction, one: AskedSend) -> bool:
    """Keys of one process instance grow; a job that a person began again has its first key."""
    opened_by = await tx.reviews.last_job(one.claim.claim_id)
    return opened_by is not None and one.job.key < opened_by


def _never_sent(claim_id: str, state: ClaimState) -> Incident:
    return Incident(
        f"{claim_id} is {state}, and a claim that has ended is never sent. Cancel this process instance in "
        "Operate; to send the batch after all, hand its file in under another claim id.",
        is_undone=True,
    )


async def _admit(group: _Group) -> None:
    """Ask the payer's breaker for those who want to go."""
    wanting = [one for one in group.asked if one.claim.claim_id not in group.told]
    if not wanting:
        return
    admitted = await group.payer.admit_all([one.claim for one in wanting])
    for one, admission in zip(wanting, admitted, strict=True):
        if isinstance(admission.verdict, Go):
            group.going[one.claim.claim_id] = admission.verdict.at
        else:
            group.told[one.claim.claim_id] = _kept_back(group, one, admission)


def _kept_back(group: _Group, one: AskedSend, admission: Admission) -> _Told:
    match admission.verdict:
        case Hold() as hold:
            return _held(group, one, hold, is_first=admission.is_first)
        case Stop() as stop:
            return _given_up(group, one, stop)
        case Go():
            raise AssertionError("a claim that may go is not kept back")


def _held(group: _Group, one: AskedSend, hold: Hold, *, is_first: bool) -> _Told:
    """The claim waits, and no attempt was spent; a wait may be prolonged many times, and has one line."""
    reason, claim_id = redact(hold.reason), one.claim.claim_id
    row = _row(group, one, ClaimState.WAITING, reason=reason, next_retry_time=hold.resume_at)
    line = JournalNote(claim_id, one.now, "payer_unavailable", f"{reason}; no attempt spent")
    return _Told(held(hold), row, line if is_first else None)


def _given_up(group: _Group, one: AskedSend, stop: Stop) -> _Told:
    error = deadline_near(one.claim, stop)
    line = JournalNote(one.claim.claim_id, one.now, "deadline_near", f"not sent: {error}")
    row = _row(group, one, ClaimState.FAILED, reason=error)
    return _Told(not_sent(redact(error), HELD_TO_DEADLINE), row, line)


def _row(group: _Group, one: AskedSend, state: ClaimState, **changes: object) -> ClaimRow:
    """The claim as it stands now, in its process's hands; one that nobody handed in begins here."""
    claim, now = one.claim, one.now
    known = group.known[claim.claim_id].row
    new = ClaimRow(claim.claim_id, claim.payer_id, state, 0, None, None, None, now, created_at=now)
    own = {"payer_id": claim.payer_id, "process_instance_key": one.job.process_instance_key}
    return (known or new).moved(state, now=now, **(own | changes)).in_hands_of(held_job(one.job))


async def _written(group: _Group) -> Sequence[Beginning]:
    """Write it all down, and say what becomes of each."""
    everything: dict[str, Beginning] = {claim_id: one.told for claim_id, one in group.told.items()}
    everything |= await _begun(group)
    leaving = [_row(group, one, ClaimState.SUBMITTING, protocol_number=None) for one in _going(group)]
    moved = [one.claim for one in group.told.values() if one.claim]
    await _save(group, [*leaving, *moved])
    await group.tx.journal.write_several([one.line for one in group.told.values() if one.line])
    await group.tx.outbox.add_any(_facts(group, [*leaving, *moved]))
    if group.terms.once:
        outcomes = {claim_id: one.told for claim_id, one in group.told.items() if one.claim}
        await group.terms.once.remember(group.tx, group.starts, outcomes, group.payer.breaker.now)
    return [everything[one.claim.claim_id] for one in group.asked]


def _facts(group: _Group, rows: Sequence[ClaimRow]) -> Iterator[OutboxEvent]:
    """What a claim's leaving, or not leaving, tells others: it was in review, or is known to be accepted."""
    keys = {one.claim.claim_id: one.job.key for one in group.asked}
    for row in rows:
        known = group.known[row.claim_id]
        if row.state is ClaimState.ACCEPTED:
            taken = known.history.acceptances
            yield accepted_by_payer(row, taken[0].attempt if taken else None, row.updated_at)
        elif known.row and known.row.state is ClaimState.IN_REVIEW:
            yield resent_after_review(row.claim_id, keys[row.claim_id], row.updated_at)


def _going(group: _Group) -> Sequence[AskedSend]:
    return [one for one in group.asked if one.claim.claim_id in group.going]


async def _save(group: _Group, rows: Sequence[ClaimRow]) -> None:
    known = [row for row in rows if group.known[row.claim_id].row]
    new = [row for row in rows if not group.known[row.claim_id].row]
    if known:
        await group.tx.claims.save_all(known)
    if new:
        await group.tx.claims.add_all(new)


async def _begun(group: _Group) -> Mapping[str, Begun]:
    """The sends that begin, written down as sends under way."""
    if not (going := _going(group)):
        return {}
    tx, now, terms = group.tx, group.payer.breaker.now, group.terms
    files = await _files(tx, terms.cipher, [one.claim.claim_id for one in going])
    operations = await terms.once.begin(tx, group.starts, group.going, now) if terms.once else {}
    leaving = [_leaving(group, one) for one in going]
    await tx.attempts.start_all(leaving)
    payer_id, until = group.payer.breaker.status.payer_id, now + terms.limits.lease
    await tx.payers.sends_began(UnderWay(one.claim_id, one.attempt, payer_id, until) for one in leaving)
    return {
        one.claim_id: Begun(
            _submission(group.known[one.claim_id].history, one, payer_id, files.get(one.claim_id)),
            group.going[one.claim_id],
            operations.get(one.claim_id),
        )
        for one in leaving
    }


def _leaving(group: _Group, one: AskedSend) -> Leaving:
    claim_id = one.claim.claim_id
    at = latest(group.payer.breaker.now, group.going[claim_id])
    return Leaving(claim_id, group.known[claim_id].history.last + 1, one.job.key, at)


def _submission(history: History, leaving: Leaving, payer_id: str, file: bytes | None) -> Submission:
    return Submission(
        leaving.claim_id, payer_id, leaving.attempt, history.answer_was_lost, history.was_undone, file
    )


async def _files(tx: Transaction, cipher: Cipher | None, claim_ids: Sequence[str]) -> Mapping[str, bytes]:
    """The claims' files; read before a send is written down, since a key that fails is no lost answer."""
    if cipher is None:
        return {}
    stored = await tx.payloads.find_all(claim_ids)
    return await asyncio.to_thread(_opened, cipher, stored) if stored else {}


def _opened(cipher: Cipher, stored: Mapping[str, str]) -> Mapping[str, bytes]:
    return {claim_id: open_payload(cipher, claim_id, text) for claim_id, text in stored.items()}
