"""Writes decisions down, several in one transaction: decision, audit events, outbox, claim, journal."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from domain.decision import Exhausted
from domain.events import PastFailures, events_of, payload
from domain.kpis.rounds import given_up_by
from persistence.audit.chain import AuditEvent, Head, message_form, seal_all
from persistence.audit.events import Audit
from persistence.audit.notes import Notes
from persistence.audit.seals import UNSEALED, Seals
from persistence.audit.trail import trail_of
from persistence.database.canonical import canonical
from persistence.repositories.attempts import Attempts
from persistence.repositories.claims import Claims, Move
from persistence.repositories.decisions import Decisions, StoredDecision, stored_form
from persistence.repositories.draft import DecisionDraft, Recorded
from persistence.repositories.first_rounds import BegunRound, EndedRound, FirstRounds
from persistence.repositories.free_texts import FreeTexts
from persistence.repositories.journal import GIVEN_UP, RETRY_SCHEDULED, Journal, JournalNote
from persistence.repositories.outbox import Outbox, OutboxEvent, event_id
from persistence.repositories.policies import Policies

History = Sequence[StoredDecision]


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """All that one new decision adds."""

    decision: StoredDecision
    trail: Sequence[AuditEvent]
    facts: tuple[OutboxEvent, ...]
    move: Move
    note: JournalNote


class DecisionLog:
    """Decisions of different claims, recorded together; the caller commits."""

    def __init__(self, connection: AsyncConnection, seals: Seals = UNSEALED) -> None:
        self._connection = connection
        self._audit = Audit(connection, seals)
        self._notes = Notes(self._audit)

    async def record(self, drafts: Sequence[DecisionDraft]) -> Sequence[Recorded]:
        """Keep each draft, unless its job was answered before: then that answer stands."""
        claim_ids = {draft.claim_id for draft in drafts}
        # rows before chains, as all who move one claim do
        await self._audit.lock(claim_ids, after=Claims(self._connection).locking(claim_ids))
        histories = await self._histories(drafts)
        known = [_known(draft, histories[draft.claim_id]) for draft in drafts]
        await self._write([draft for draft, old in zip(drafts, known, strict=True) if not old], histories)
        return [
            Recorded(old.result, is_new=False) if old else Recorded(draft.result, is_new=True)
            for draft, old in zip(drafts, known, strict=True)
        ]

    async def _histories(self, drafts: Sequence[DecisionDraft]) -> Mapping[str, History]:
        histories: defaultdict[str, list[StoredDecision]] = defaultdict(list)
        for stored in await Decisions(self._connection).of_claims({draft.claim_id for draft in drafts}):
            histories[stored.claim_id].append(stored)
        return histories

    async def _write(self, drafts: Sequence[DecisionDraft], histories: Mapping[str, History]) -> None:
        if not drafts:
            return
        connection = self._connection
        heads = await self._audit.heads({draft.claim_id for draft in drafts})
        sends = await Attempts(connection, self._notes).counts(
            {d.claim_id for d in drafts if _is_exhausted(d)}
        )
        entries = []
        for draft in drafts:
            past = _past(draft, histories[draft.claim_id], sends.get(draft.claim_id))
            round_ = _round(draft, histories[draft.claim_id])
            entries.append(_entry(draft, heads.get(draft.claim_id, Head()), past, round_))
        now = drafts[0].decision.decided_at
        await Policies(connection).keep((draft.policy for draft in drafts), now=now)
        await Decisions(connection).keep(entry.decision for entry in entries)
        await self._audit.append(event for entry in entries for event in entry.trail)
        await Outbox(connection).add(fact for entry in entries for fact in entry.facts)
        await Claims(connection).move_all(entry.move for entry in entries)
        await Journal(connection, self._notes).write_all(entry.note for entry in entries)
        await self._keep_rounds(drafts, histories)
        await FreeTexts(connection).keep(draft.free_text for draft in drafts if draft.free_text)

    async def _keep_rounds(self, drafts: Sequence[DecisionDraft], histories: Mapping[str, History]) -> None:
        """What KPIs count: written when a claim first fails and when it is first given up, else not."""
        first = [draft for draft in drafts if not histories[draft.claim_id]]
        later = [draft for draft in drafts if histories[draft.claim_id]]
        ends = [_ended(draft) for draft in later if _was_retried(histories[draft.claim_id])]
        await FirstRounds(self._connection).begin_all(_begun(draft) for draft in first)
        await FirstRounds(self._connection).end_all(end for end in ends if end)


def _begun(draft: DecisionDraft) -> BegunRound:
    at, given_up = draft.decision.decided_at, given_up_by(draft.decision)
    return BegunRound(draft.claim_id, at, given_up is None, given_up, at if given_up else None)


def _ended(draft: DecisionDraft) -> EndedRound | None:
    given_up = given_up_by(draft.decision)
    return EndedRound(draft.claim_id, given_up, draft.decision.decided_at) if given_up else None


def _was_retried(history: History) -> bool:
    """Whether the claim was never given up before."""
    return all(stored.should_retry for stored in history)


def _known(draft: DecisionDraft, history: History) -> StoredDecision | None:
    return next((stored for stored in reversed(history) if stored.answers(draft)), None)


def _is_exhausted(draft: DecisionDraft) -> bool:
    return isinstance(draft.decision, Exhausted)


def _entry(draft: DecisionDraft, head: Head, past: PastFailures, round_: int) -> DecisionEntry:
    elapsed_ms = draft.elapsed_ms()
    trail = seal_all(trail_of(draft, elapsed_ms), head)
    stored = stored_form(draft, round_=round_, audit_sequence=trail[-1].sequence)
    listed = _listed(draft, elapsed_ms) | {"auditEvents": [message_form(event) for event in trail]}
    return DecisionEntry(stored, trail, _facts(draft, stored, past, listed), _move(draft), _note(draft))


def _round(draft: DecisionDraft, history: History) -> int:
    asked = draft.asked_count, draft.process_instance_key
    return sum((stored.retry_count, stored.process_instance_key) == asked for stored in history)


def _past(draft: DecisionDraft, history: History, sends: int | None) -> PastFailures:
    instance = draft.process_instance_key
    failures = [old.decided_at for old in history if old.process_instance_key == instance]
    return PastFailures(len(history) + 1, min(failures, default=draft.decision.decided_at), sends)


def _listed(draft: DecisionDraft, elapsed_ms: int) -> dict[str, object]:
    """What the rules list for their log beside what the event itself says."""
    decision = draft.decision
    return {
        "submissionError": decision.last_error,
        "retryReason": decision.reason,
        "executionTimeMs": elapsed_ms,
    }


def _facts(
    draft: DecisionDraft, stored: StoredDecision, past: PastFailures, listed: dict[str, object]
) -> tuple[OutboxEvent, ...]:
    events = events_of(draft.decision, draft.policy.profile, past)
    identity = (draft.claim_id, stored.retry_count, stored.process_instance_key, stored.round)
    return tuple(
        OutboxEvent(
            event_id=event_id(*identity, type(event).__name__),
            claim_id=draft.claim_id,
            type=type(event).__name__,
            payload=canonical(payload(event) | listed),
            created_at=draft.decision.decided_at,
        )
        for event in events
    )


def _move(draft: DecisionDraft) -> Move:
    decision, retry = draft.decision, draft.retry
    return Move(
        claim_id=draft.claim_id,
        process_instance_key=draft.process_instance_key,
        state=ClaimState.WAITING if retry else ClaimState.FAILED,
        retry_count=decision.retry_count,
        next_retry_time=retry.next_retry_time if retry else None,
        reason=decision.reason,
        updated_at=decision.decided_at,
        job=draft.job,
    )


def _note(draft: DecisionDraft) -> JournalNote:
    decision, retry = draft.decision, draft.retry
    event = RETRY_SCHEDULED if retry else GIVEN_UP
    detail = f"{decision.reason}, in {retry.backoff_minutes} min" if retry else decision.reason
    return JournalNote(draft.claim_id, decision.decided_at, event, detail)
