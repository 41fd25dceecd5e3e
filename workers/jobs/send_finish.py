"""Ends sends: the answers that one payer gave at one moment, written down in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from domain.claim_state import ClaimState
from domain.kpis.rounds import NumberedSend
from domain.payer_status import PayerLimits
from domain.submission import Accepted, AccessDenied, Answered, Settled, Submission, settle
from persistence.database.group_commit import LeftOut
from persistence.encryption.cipher import Cipher
from persistence.repositories.attempts import AttemptAnswer, AttemptResult, History
from persistence.repositories.claims import ClaimRow, SentBy
from persistence.repositories.first_rounds import TakenSend, left
from persistence.repositories.guides import SoughtGuides
from persistence.repositories.outbox import OutboxEvent
from persistence.store import Transaction
from workers.claims.guides import other_holders
from workers.jobs.facts import accepted_by_payer
from workers.jobs.once import Once
from workers.jobs.payer_words import keep_words
from workers.jobs.send_group import Begun
from workers.jobs.send_result import AfterSend, LockedClaim, facts_of, recorded, report
from workers.payers.admission import LockedPayer, PayerChange, locked
from workers.runtime.outcome import Complete, Incident, Throw


@dataclass(frozen=True, slots=True)
class EndedSend:
    """A send and its answer; `began` and `at` are its moments by our clock."""

    begun: Begun
    process: int
    result: Answered
    sought: SoughtGuides | None
    began: datetime
    at: datetime

    @property
    def submission(self) -> Submission:
        return self.begun.submission


@dataclass(frozen=True, slots=True)
class EndingTerms:
    """What a send at this payer ends by."""

    limits: PayerLimits
    once: Once | None
    cipher: Cipher | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What a send's process is told; one of those that end together says what changed for the payer."""

    outcome: Complete | Throw | Incident
    settled: Settled
    change: PayerChange | None = None


@dataclass(frozen=True, slots=True)
class _Ground:
    """What is locked: the payer, and the claims that are known."""

    payer: LockedPayer
    rows: Mapping[str, ClaimRow]
    terms: EndingTerms


@dataclass(frozen=True, slots=True)
class _Entry:
    answer: AttemptAnswer
    recorded: AfterSend
    taken: TakenSend | None


async def finish_all(
    tx: Transaction, ended: Sequence[EndedSend], terms: EndingTerms
) -> Sequence[Told | LeftOut]:
    """Write down what came of each send; the payer learns from all of them, in their order.

    A claim that somebody else holds is left out: whoever waited for it would keep its payer's row meanwhile.
    """
    now = max(one.at for one in ended)
    payer = await locked(tx, ended[0].submission.payer_id, terms.limits, now)
    found = await tx.claims.lock_free([one.submission.claim_id for one in ended])
    free = [one for one in ended if one.submission.claim_id not in found.held]
    written = iter(await _finish(tx, free, _Ground(payer, found.rows, terms)) if free else ())
    return [LeftOut() if one.submission.claim_id in found.held else next(written) for one in ended]


async def _finish(tx: Transaction, ended: Sequence[EndedSend], ground: _Ground) -> Sequence[Told]:
    payer, terms = ground.payer, ground.terms
    histories = await tx.attempts.histories([one.submission.claim_id for one in ended])
    entries = []
    for one in ended:
        history = histories[one.submission.claim_id]
        settled = await _settled(tx, one, payer, history)
        payer = payer.after(settled, again=one.submission.after_lost_answer)
        entries.append(_entry(one, settled, ground.rows.get(one.submission.claim_id), history))
    change = await ground.payer.change(payer.breaker.status)
    told = [report(one.submission, entry.recorded.told, one.began) for one, entry in _pairs(ended, entries)]
    await _write(tx, entries)
    await keep_words(tx, [(one.submission.claim_id, one.result, one.began) for one in ended], terms.cipher)
    if terms.once:
        operations = [one.begun.operation for one in ended]
        results = [(begun, said) for begun, said in zip(operations, told, strict=True) if begun]
        await terms.once.settle_all(tx, results, payer.breaker.now)
    said = zip(told, (entry.recorded.told for entry in entries), strict=True)
    return [
        Told(outcome, settled, None if number else change) for number, (outcome, settled) in enumerate(said)
    ]


def _pairs(ended: Sequence[EndedSend], entries: Sequence[_Entry]) -> Sequence[tuple[EndedSend, _Entry]]:
    return list(zip(ended, entries, strict=True))


async def _settled(tx: Transaction, one: EndedSend, payer: LockedPayer, history: History) -> Settled:
    sent = one.submission
    others = await other_holders(tx, one.sought)
    alone = _is_denied_alone(one, payer, history)
    return settle(
        one.result, answer_was_lost_before=sent.after_lost_answer, others=others, denied_alone=alone
    )


def _is_denied_alone(one: EndedSend, payer: LockedPayer, history: History) -> bool:
    """Whether the claim was denied before, and the payer has taken others since it was resumed."""
    takes_others = isinstance(one.result, AccessDenied) and payer.breaker.status.proven
    return takes_others and history.was_denied(before=one.submission.attempt)


def _entry(one: EndedSend, settled: Settled, row: ClaimRow | None, history: History) -> _Entry:
    sent = one.submission
    result = AttemptResult(settled.stored_as, facts_of(settled))
    known = LockedClaim(sent.payer_id, row, history.answered(sent.attempt, result))
    by = SentBy(sent.claim_id, sent.attempt, one.process)
    answer = AttemptAnswer(sent.claim_id, sent.attempt, result, one.at)
    return _Entry(answer, recorded(by, settled, known, one.began), _taken(one, settled, history))


def _taken(one: EndedSend, settled: Settled, history: History) -> TakenSend | None:
    """A send that was taken and had others before it: perhaps a retry that made it."""
    number = one.submission.attempt
    if not isinstance(settled, Accepted) or number == 1 or history.is_undone(number):
        return None
    sends = [send for send in history.sends if send.attempt <= number and left(send.outcome)]
    return TakenSend(
        one.submission.claim_id, tuple(NumberedSend(s.attempt, s.started_at) for s in sends), one.at
    )


async def _write(tx: Transaction, entries: Sequence[_Entry]) -> None:
    answers = [entry.answer for entry in entries]
    await tx.payers.sends_ended((answer.claim_id, answer.attempt) for answer in answers)
    await tx.attempts.finish_all(answers)
    await tx.first_rounds.take_all([entry.taken for entry in entries if entry.taken])
    if moved := [entry.recorded.claim for entry in entries if entry.recorded.claim]:
        await tx.claims.save_all(moved)
    for entry in entries:
        if protocol := entry.recorded.noted_protocol:
            await tx.claims.note_protocol(entry.answer.claim_id, protocol)
    await tx.journal.write_several([entry.recorded.line for entry in entries])
    await tx.outbox.add_any(fact for entry in entries if (fact := _fact(entry)))


def _fact(entry: _Entry) -> OutboxEvent | None:
    claim, answer = entry.recorded.claim, entry.answer
    is_accepted = claim is not None and claim.state is ClaimState.ACCEPTED
    return accepted_by_payer(claim, answer.attempt, answer.at) if claim and is_accepted else None
