"""Begins sends: claims of one moment that want to go to one payer, in one transaction.

What is decided about one claim (`send_permission`, then the payer's breaker) is a value; all is written at
the end, table by table.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from domain.claim_state import ClaimState
from domain.decision import HELD_TO_DEADLINE
from domain.redaction import redact
from domain.slots import latest
from domain.submission import Submission
from domain.verdicts import Go, Hold, NoPlace, Stop
from persistence.database.group_commit import LeftOut
from persistence.encryption.cipher import Cipher
from persistence.repositories.attempts import History, Leaving
from persistence.repositories.claims import ClaimRow
from persistence.repositories.journal import JournalNote
from persistence.repositories.outbox import OutboxEvent
from persistence.repositories.payers import UnderWay
from persistence.repositories.payloads import open_payload
from persistence.store import Transaction
from workers.jobs.facts import accepted_by_payer, resent_after_review
from workers.jobs.send_group import (
    AskedSend,
    Beginning,
    BeginningTerms,
    Begun,
    NotSent,
    PayerDiffers,
    SendGroup,
    looked_up,
)
from workers.jobs.send_permission import told_at_once
from workers.jobs.send_result import deadline_near, held, not_sent
from workers.payers.admission import Admission


class NothingBeginsError(Exception):
    """Undoes what was looked up where every claim is to ask again; says what each is told."""

    def __init__(self, told: Sequence[Beginning | LeftOut]) -> None:
        super().__init__()
        self.told = told


async def begin_all(
    tx: Transaction, asked: Sequence[AskedSend], terms: BeginningTerms
) -> Sequence[Beginning | LeftOut]:
    """Let each claim leave or wait, or say what else; jobs of one claim never come together.

    A claim that somebody else holds is left out: whoever waited for it would keep its payer's row meanwhile.
    """
    group = await looked_up(tx, asked, terms)
    for one in group.asked:
        if (told := await told_at_once(group, one)) is not None:
            group.told[one.claim.claim_id] = told
    _unless_for_nothing(group, asked)
    await _admit(group)
    _unless_for_nothing(group, asked)
    return _in_order(asked, await _written(group))


def _in_order(asked: Sequence[AskedSend], told: Mapping[str, Beginning]) -> Sequence[Beginning | LeftOut]:
    return [told.get(one.claim.claim_id, LeftOut()) for one in asked]


def _unless_for_nothing(group: SendGroup, asked: Sequence[AskedSend]) -> None:
    """Where all are to ask again, here or at another payer, nothing is kept."""
    told = {claim_id: one.told for claim_id, one in group.told.items()}
    ask_again = [one for one in told.values() if isinstance(one, PayerDiffers | NoPlace)]
    if len(ask_again) == len(group.asked):
        raise NothingBeginsError(_in_order(asked, told))


async def _admit(group: SendGroup) -> None:
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


def _kept_back(group: SendGroup, one: AskedSend, admission: Admission) -> NotSent:
    match admission.verdict:
        case Hold() as hold:
            return _held(group, one, hold, is_first=admission.is_first)
        case Stop() as stop:
            return _given_up(group, one, stop)
        case NoPlace() as none:
            return NotSent(none)
        case Go():
            raise AssertionError("a claim that may go is not kept back")


def _held(group: SendGroup, one: AskedSend, hold: Hold, *, is_first: bool) -> NotSent:
    """The claim waits, and no attempt was spent; a wait may be prolonged many times, and has one line."""
    reason, claim_id = redact(hold.reason), one.claim.claim_id
    row = group.row(one, ClaimState.WAITING, reason=reason, next_retry_time=hold.resume_at)
    line = JournalNote(claim_id, one.now, "payer_unavailable", f"{reason}; no attempt spent")
    return NotSent(held(hold), row, line if is_first else None)


def _given_up(group: SendGroup, one: AskedSend, stop: Stop) -> NotSent:
    error = deadline_near(one.claim, stop)
    line = JournalNote(one.claim.claim_id, one.now, "deadline_near", f"not sent: {error}")
    row = group.row(one, ClaimState.FAILED, reason=error)
    return NotSent(not_sent(redact(error), HELD_TO_DEADLINE), row, line)


async def _written(group: SendGroup) -> Mapping[str, Beginning]:
    """Write it all down, and say what becomes of each."""
    everything: dict[str, Beginning] = {claim_id: one.told for claim_id, one in group.told.items()}
    everything |= await _begun(group)
    leaving = [group.row(one, ClaimState.SUBMITTING, protocol_number=None) for one in _going(group)]
    moved = [one.claim for one in group.told.values() if one.claim]
    await _save(group, [*leaving, *moved])
    await group.tx.journal.write_several([one.line for one in group.told.values() if one.line])
    await group.tx.outbox.add_any(_facts(group, [*leaving, *moved]))
    if group.terms.once:
        outcomes = {claim_id: one.told for claim_id, one in group.told.items() if one.claim}
        await group.terms.once.remember(group.tx, group.starts, outcomes, group.payer.breaker.now)
    return everything


def _facts(group: SendGroup, rows: Sequence[ClaimRow]) -> Iterator[OutboxEvent]:
    """What a claim's leaving, or not leaving, tells others: it was in review, or is known to be accepted."""
    keys = {one.claim.claim_id: one.job.key for one in group.asked}
    for row in rows:
        known = group.known[row.claim_id]
        if row.state is ClaimState.ACCEPTED:
            taken = known.history.acceptances
            yield accepted_by_payer(row, taken[0].attempt if taken else None, row.updated_at)
        elif known.row and known.row.state is ClaimState.IN_REVIEW:
            yield resent_after_review(row.claim_id, keys[row.claim_id], row.updated_at)


def _going(group: SendGroup) -> Sequence[AskedSend]:
    return [one for one in group.asked if one.claim.claim_id in group.going]


async def _save(group: SendGroup, rows: Sequence[ClaimRow]) -> None:
    known = [row for row in rows if group.known[row.claim_id].row]
    new = [row for row in rows if not group.known[row.claim_id].row]
    if known:
        await group.tx.claims.save_all(known)
    if new:
        await group.tx.claims.add_all(new)


async def _begun(group: SendGroup) -> Mapping[str, Begun]:
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


def _leaving(group: SendGroup, one: AskedSend) -> Leaving:
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
