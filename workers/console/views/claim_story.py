"""A claim's story from file to protocol: what happened, what was decided, and with which numbers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from domain.backoff import BackoffCalculation
from domain.breaker import ASKED_TO_WAIT, MAINTENANCE, OWN_PACE
from domain.claim import ClaimId, ClaimIdForm
from domain.deadline_changes import DeadlineChange, read_change
from domain.decision import Cause, RetryRequest, scheduled
from domain.policy import Policy
from domain.reviews import ReviewReason
from persistence.repositories.attempts import AttemptRow
from persistence.repositories.decisions import StoredDecision
from persistence.repositories.journal import JournalEntry
from persistence.repositories.operator_orders import KeptOrder
from workers.console.views.reasons import error_sentence, review_cause
from workers.console.views.shapes import StateShape, StateView, Tone
from workers.console.views.states import team_name
from workers.console.views.times import Said, Times, duration
from workers.console.words import Words

_EVENTS = {
    "received": (Tone.CALM, StateShape.CIRCLE),
    "payer_unavailable": (Tone.WAITING, StateShape.PAUSE),
    "deadline_near": (Tone.STOPPED, StateShape.CLOCK),
    "review_opened": (Tone.STOPPED, StateShape.PERSON),
    "notified": (Tone.CALM, StateShape.ARROW),
    "incident": (Tone.STOPPED, StateShape.WARNING),
    "incident_resolved": (Tone.MOVING, StateShape.ARROW),
    "corrected": (Tone.MOVING, StateShape.PERSON),
    "cancelled": (Tone.CALM, StateShape.DASH),
    "written_off": (Tone.CALM, StateShape.DASH),
    "cancelled_at_payer": (Tone.WAITING, StateShape.DASH),
    "acceptance_cancelled": (Tone.STOPPED, StateShape.WARNING),
    "words_read": (Tone.CALM, StateShape.PERSON),
    "order_refused": (Tone.CALM, StateShape.DASH),
}
"""What of the journal is told here; sends, decisions and orders are told from their own records."""
_ANSWERS = {
    "ACCEPTED": (Tone.DONE, StateShape.CHECK),
    "PROTOCOL_MISSING": (Tone.WAITING, StateShape.CHECK),
    "ANSWER_LOST": (Tone.WAITING, StateShape.WARNING),
    "ARRIVAL_UNKNOWN": (Tone.WAITING, StateShape.WARNING),
    "ACCESS_DENIED": (Tone.STOPPED, StateShape.WARNING),
}


@dataclass(frozen=True, slots=True)
class StoryLine:
    """One thing that happened."""

    moment: datetime
    at: Said
    mark: StateView
    text: str = ""
    formula: str = ""


@dataclass(frozen=True, slots=True)
class Records:
    """What a story is told from, and the policies that its decisions were made with."""

    journal: Sequence[JournalEntry]
    sends: Sequence[AttemptRow]
    decisions: Sequence[StoredDecision]
    orders: Sequence[KeptOrder]
    policies: dict[str, Policy]


def story(records: Records, times: Times) -> Sequence[StoryLine]:
    """Everything, the newest last; what is of one moment in the order in which it comes about."""
    told = [
        *_events(replace(records, journal=_received(records, is_first=True)), times),
        *_orders(records.orders, times),
        *_sends(records.sends, times),
        *_decisions(records, times),
        *_events(replace(records, journal=_received(records, is_first=False)), times),
    ]
    return sorted(told, key=lambda line: line.moment)


def _received(records: Records, *, is_first: bool) -> Sequence[JournalEntry]:
    """That its file came in, before all else; or what came after."""
    return [entry for entry in records.journal if (entry.event == "received") is is_first]


def _events(records: Records, times: Times) -> Iterator[StoryLine]:
    for entry in records.journal:
        if entry.event in _EVENTS:
            title = times.words(f"event.{_event_name(entry)}")
            yield StoryLine(
                entry.at,
                times.at(entry.at),
                StateView(*_EVENTS[entry.event], title),
                _detail(entry, records.decisions, times.words),
            )


_WAITS = {OWN_PACE: "queued", MAINTENANCE: "out_of_hours", ASKED_TO_WAIT: "asked_to_wait"}


def _event_name(entry: JournalEntry) -> str:
    """A payer that is well lets claims wait too: for their turn, or for its hours."""
    if entry.event != "payer_unavailable":
        return entry.event
    found = (name for why, name in _WAITS.items() if entry.detail.startswith(why))
    return next(found, entry.event)


def _detail(entry: JournalEntry, decisions: Sequence[StoredDecision], words: Words) -> str:
    if entry.event == "review_opened":
        before = [one for one in decisions if one.decided_at <= entry.at]
        by_deadline = bool(before) and before[-1].cause == Cause.DEADLINE
        is_spent = entry.detail == ReviewReason.MAX_RETRIES_EXCEEDED
        return review_cause(Cause.DEADLINE if by_deadline and is_spent else entry.detail, None, words)
    return team_name(entry.detail, words) if entry.event == "notified" else ""


def _sends(sends: Iterable[AttemptRow], times: Times) -> Iterator[StoryLine]:
    words = times.words
    for send in sends:
        tone, shape = _ANSWERS.get(send.outcome or "", (Tone.MOVING, StateShape.ARROW))
        known = f"sent.{send.outcome}"
        text = words(known) if words.knows(known) else words("sent.open")
        title = words("sent.title", n=send.attempt)
        yield StoryLine(send.started_at, times.at(send.started_at), StateView(tone, shape, title), text)


def _orders(orders: Iterable[KeptOrder], times: Times) -> Iterator[StoryLine]:
    for order in orders:
        if order.at:
            words = times.words
            mark = StateView(Tone.MOVING, StateShape.PERSON, _ordered(order, times))
            text = words("order_by", by=order.ordered_by, reason=order.reason)
            yield StoryLine(order.at, times.at(order.at), mark, text)


def _ordered(order: KeptOrder, times: Times) -> str:
    """What somebody asked for."""
    if change := read_change(order.action):
        return change_sentence(change, times)
    known = f"order_of.{order.action.replace(' ', '_')}"
    return times.words(known) if times.words.knows(known) else times.words("order_of.other")


def change_sentence(change: DeadlineChange, times: Times) -> str:
    """Another deadline, and the one before."""
    after, before = (
        times.at(one).text if one else times.words("today.no_deadline")
        for one in (change.after, change.before)
    )
    return times.words("care.deadline_changed", after=after, before=before)


def _decisions(records: Records, times: Times) -> Iterator[StoryLine]:
    for decision in records.decisions:
        at = times.at(decision.decided_at)
        error = error_sentence(decision.error_category, decision.submission_error, times.words)
        policy = records.policies.get(decision.policy_version)
        if decision.should_retry and decision.next_retry_time:
            yield StoryLine(
                decision.decided_at,
                at,
                _retry_mark(decision, times),
                error,
                _formula(decision, policy, times.words),
            )
        else:
            yield StoryLine(decision.decided_at, at, _end_mark(decision, times.words), error)


def _retry_mark(decision: StoredDecision, times: Times) -> StateView:
    due = times.at(decision.next_retry_time).text if decision.next_retry_time else ""
    count, limit = decision.attempt_number, decision.max_retries
    return StateView(
        Tone.WAITING, StateShape.CLOCK, times.words("decided.retry", at=due, n=count, limit=limit)
    )


def _end_mark(decision: StoredDecision, words: Words) -> StateView:
    if decision.error_classification == "PERMANENT" and decision.cause is None:
        return StateView(Tone.STOPPED, StateShape.PERSON, words("decided.permanent"))
    name = "decided.deadline" if decision.cause == Cause.DEADLINE else "decided.exhausted"
    return StateView(Tone.STOPPED, StateShape.PERSON, words(name, limit=decision.max_retries))


def _formula(decision: StoredDecision, policy: Policy | None, words: Words) -> str:
    """How the wait came about, reckoned again from the policy it was made with; nothing without that."""
    backoff = None if policy is None else reckoned(decision, policy)
    if policy is None or backoff is None:
        return ""
    drawn = f"{backoff.fraction:.2f}".replace(".", words.point)
    wait = duration(backoff.fitted_from or backoff.seconds, words)
    said = words(
        "decided.formula",
        base=duration(backoff.base_seconds, words),
        low=duration(backoff.low_seconds, words),
        high=duration(backoff.high_seconds, words),
        percent=policy.limits.jitter_percent,
        drawn=drawn,
        wait=wait,
    )
    moved = words("decided.fitted", wait=duration(backoff.seconds, words)) if backoff.fitted_from else ""
    return f"{said}{moved}"


def reckoned(decision: StoredDecision, policy: Policy) -> BackoffCalculation | None:
    """The wait of a decision, reckoned again."""
    form = ClaimIdForm.CLM if ClaimIdForm.CLM.fits(decision.claim_id) else ClaimIdForm.REFERENCE
    request = RetryRequest(
        ClaimId(decision.claim_id, form), "", None, decision.retry_count, deadline=decision.deadline
    )
    found = scheduled(request, policy, decision.decided_at)
    return found if isinstance(found, BackoffCalculation) else None
