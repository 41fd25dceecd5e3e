"""The circuit breaker of one payer: who may go, who waits until when, and what each answer changes."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto

from domain.payer_status import PayerLimits, PayerState, PayerStatus
from domain.slots import draw, draw_waiting, latest, opening, without_slots
from domain.submission import Accepted, AnswerLost, Duplicate, Failed, ProtocolMissing, SendResult, Settled
from domain.submission import AccessDenied as Denied

MAINTENANCE = "outside the payer's hours, or planned maintenance"
ASKED_TO_WAIT = "the payer asked to come later"
OWN_PACE = "waits for its turn at the payer's pace"
TRIAL_RUNS = "one claim tries first whether the payer takes claims"
_RATE_CODES = frozenset({"HTTP:429", "HTTP:425"})
_ONE_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A claim at the door: its slot, if it has one, and its deadline."""

    slot_at: datetime | None = None
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True)
class Go:
    """The claim may be sent now."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing is sent and no attempt is spent; the claim comes back, always later than now."""

    resume_at: datetime
    slot_at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Waiting on would use up the time that a person needs before the deadline."""

    reason: str


Verdict = Go | Hold | Stop


class Signal(Enum):
    """What an answer says about the payer, whatever it says about the claim."""

    ANSWERED = auto()
    OUTAGE = auto()
    BUSY = auto()
    UNCLEAR = auto()
    UNCLEAR_AGAIN = auto()
    DENIED = auto()
    NOTHING = auto()


def signal_of(outcome: SendResult | Settled, *, again: bool = False) -> Signal:
    """Read an outcome; only what the payer's own system has processed proves that it takes claims.

    `again` says that an earlier send of the claim had no clear answer either: it may be the claim's fault.
    """
    match outcome:
        case Accepted() | Duplicate() | ProtocolMissing():
            return Signal.ANSWERED
        case Denied():
            return Signal.DENIED
        case Failed(payer_down=True) | AnswerLost(payer_down=True):
            return Signal.OUTAGE
        case Failed(code=code) if code in _RATE_CODES:
            return Signal.BUSY
        case Failed(code=code) if code and code.startswith("TISS:"):
            return Signal.ANSWERED
        case AnswerLost():
            return Signal.UNCLEAR_AGAIN if again else Signal.UNCLEAR
        case _:
            return Signal.NOTHING


def is_free(status: PayerStatus, limits: PayerLimits) -> bool:
    """Whether claims go by pace alone: the payer is healthy and our credentials have worked."""
    return status.state is PayerState.CLOSED and (status.proven or not limits.needs_proof)


def admit(
    status: PayerStatus, ticket: Ticket, in_flight: int, limits: PayerLimits, now: datetime
) -> tuple[PayerStatus, Verdict]:
    """Let a claim go, or say when it may come back; the status is to be kept either way."""
    status = aged(status, now)
    base, reason = _barred(status, limits, now)
    if base > now:
        return _wait(status, ticket, base, limits, now, reason)
    if not is_free(status, limits):
        return _try(status, ticket, in_flight, limits, now)
    if in_flight >= limits.at_once:
        return _queue(status, ticket, now + limits.busy_wait, limits, now)
    paced = latest(now, status.paced_until) - limits.grace
    if ticket.slot_at and ticket.slot_at - limits.early <= now and paced <= now:
        return _gone(status, limits, now), Go()
    return _queue(status, ticket, max(now, paced), limits, now)


def aged(status: PayerStatus, now: datetime) -> PayerStatus:
    """What time alone changes: a breaker that was open long enough tries, a pause that is over ends."""
    due = status.next_try_at is not None and status.next_try_at <= now
    if due and status.state is PayerState.OPEN:
        return replace(status, state=PayerState.HALF_OPEN, changed_at=now)
    if due and status.state is PayerState.PAUSED:
        return resumed(status, now)
    return status


def after_answer(
    status: PayerStatus,
    word: Signal,
    limits: PayerLimits,
    now: datetime,
    *,
    reason: str = "",
    retry_after: timedelta | None = None,
) -> PayerStatus:
    """The status after an answer; `reason` is the answer in our own words."""
    if retry_after is not None or word is Signal.BUSY:
        wish = retry_after if retry_after is not None else limits.busy_wait
        status = replace(status, not_before=latest(now + wish, status.not_before))
    match word:
        case Signal.ANSWERED:
            return _answered(status, now)
        case Signal.OUTAGE:
            return _failed(status, limits, now, reason, opens_at=limits.threshold)
        case Signal.UNCLEAR:
            return _failed(status, limits, now, reason, opens_at=limits.unclear_threshold)
        case Signal.UNCLEAR_AGAIN if status.state is PayerState.HALF_OPEN:
            return _opened(status, limits, now, reason)
        case Signal.DENIED:
            stopped = replace(status, state=PayerState.STOPPED, proven=False, next_try_at=None)
            return replace(stopped, reason=reason, opened_at=status.opened_at or now, changed_at=now)
        case _:
            return status


def probed(status: PayerStatus, now: datetime, *, up: bool) -> PayerStatus:
    """The status after a probe: "up" begins a trial, never more.

    An "up" that a trial has proven wrong is heard again only after a "down", or the probe of a payer
    whose front door answers while its system is out would cost one claim's attempt at every run.
    """
    news = up and status.probe_up is not True
    status = replace(status, probed_at=now, probe_up=up)
    if news and status.state is PayerState.OPEN:
        return replace(status, state=PayerState.HALF_OPEN, next_try_at=now, changed_at=now)
    return aged(status, now)


def paused(status: PayerStatus, reason: str, until: datetime | None, now: datetime) -> PayerStatus:
    """A person holds all sends, until a moment or until resumed; refused credentials hold them longer."""
    if status.state is PayerState.STOPPED:
        return status
    held = replace(status, state=PayerState.PAUSED, reason=reason, next_try_at=until)
    return replace(held, opened_at=status.opened_at or now, changed_at=now)


def resumed(status: PayerStatus, now: datetime) -> PayerStatus:
    """Sends are allowed again; credentials have to prove themselves with one claim first."""
    fresh = PayerStatus(
        status.payer_id,
        now,
        not_before=status.not_before,
        paced_until=status.paced_until,
        probed_at=status.probed_at,
        probe_up=status.probe_up,
    )
    return without_slots(fresh, now)


def tripped(status: PayerStatus, reason: str, limits: PayerLimits, now: datetime) -> PayerStatus:
    """A person opens the breaker, as an outage would; one that waits for credentials stays as it is."""
    if status.state is PayerState.STOPPED:
        return status
    return _opened(status, limits, now, reason)


def _barred(status: PayerStatus, limits: PayerLimits, now: datetime) -> tuple[datetime, str]:
    """Until when nobody may go, and why; now or earlier when somebody may."""
    asked = status.not_before or now
    match status.state:
        case PayerState.OPEN | PayerState.PAUSED if status.next_try_at:
            return opening(limits, latest(status.next_try_at, asked)), status.reason
        case PayerState.OPEN | PayerState.PAUSED | PayerState.STOPPED:
            return now + limits.longest_wait, status.reason
        case _:
            opens = opening(limits, latest(now, asked))
            return opens, MAINTENANCE if opening(limits, now) > now else ASKED_TO_WAIT


def _try(
    status: PayerStatus, ticket: Ticket, in_flight: int, limits: PayerLimits, now: datetime
) -> tuple[PayerStatus, Verdict]:
    if in_flight >= limits.trials:
        return _wait(status, ticket, now + limits.first_wait, limits, now, status.reason or TRIAL_RUNS)
    if (paced := latest(now, status.paced_until)) > now:
        return _wait(status, ticket, paced, limits, now, OWN_PACE)
    return _gone(status, limits, now), Go()


def _queue(
    status: PayerStatus, ticket: Ticket, base: datetime, limits: PayerLimits, now: datetime
) -> tuple[PayerStatus, Verdict]:
    """In the lane of new claims; here the payer is well, so only the deadline itself ends the wait."""
    if ticket.slot_at and ticket.slot_at > max(now, base):
        slot = ticket.slot_at
    else:
        status, slot = draw(status, limits, base)
    if _is_due(slot, limits, now):
        return _gone(status, limits, now), Go()
    return status, _hold(slot, ticket.deadline, now, OWN_PACE)


def _is_due(slot: datetime, limits: PayerLimits, now: datetime) -> bool:
    """Without a pace, slots differ only by when those who drew them looked at their clocks."""
    return slot <= now if limits.interval else slot - limits.early <= now


def _wait(
    status: PayerStatus, ticket: Ticket, base: datetime, limits: PayerLimits, now: datetime, reason: str
) -> tuple[PayerStatus, Verdict]:
    """In the lane of claims that have to wait; a later slot of its own stays a claim's."""
    if ticket.slot_at and ticket.slot_at >= base:
        slot = ticket.slot_at
    else:
        status, slot = draw_waiting(status, limits, base)
    last = ticket.deadline - limits.reserve if ticket.deadline else None
    return status, _hold(slot, last, now, reason)


def _hold(slot: datetime, last: datetime | None, now: datetime, reason: str) -> Hold | Stop:
    if last is not None and last <= now:
        return Stop(reason)
    resume_at = slot if last is None else min(slot, last)
    return Hold(max(_whole(resume_at), now + _ONE_SECOND), slot, reason)


def _whole(moment: datetime) -> datetime:
    """Timers know whole seconds: one that ended early would only come back for nothing."""
    cut = moment.replace(microsecond=0)
    return cut if cut == moment else cut + _ONE_SECOND


def _gone(status: PayerStatus, limits: PayerLimits, now: datetime) -> PayerStatus:
    return replace(status, paced_until=latest(now, status.paced_until) + limits.interval)


def _answered(status: PayerStatus, now: datetime) -> PayerStatus:
    match status.state:
        case PayerState.CLOSED:
            return replace(status, failures=0, openings=0, proven=True)
        case PayerState.HALF_OPEN:
            return replace(resumed(status, now), proven=True)
        case PayerState.OPEN:  # a send from before the breaker opened: a hint, no proof
            return replace(status, state=PayerState.HALF_OPEN, next_try_at=now, changed_at=now)
        case _:
            return status


def _failed(
    status: PayerStatus, limits: PayerLimits, now: datetime, reason: str, *, opens_at: int
) -> PayerStatus:
    status = replace(status, failures=status.failures + 1)
    tries = status.state is PayerState.HALF_OPEN
    if tries or (status.state is PayerState.CLOSED and status.failures >= opens_at):
        return _opened(status, limits, now, reason)
    return status


def _opened(status: PayerStatus, limits: PayerLimits, now: datetime, reason: str) -> PayerStatus:
    wait = min(limits.first_wait * 2 ** min(status.openings, 10), limits.longest_wait)
    was_trying = status.state is PayerState.HALF_OPEN
    opened = replace(
        status,
        state=PayerState.OPEN,
        reason=reason,
        openings=status.openings + 1,
        opened_at=status.opened_at or now,
        next_try_at=latest(now + wait, status.not_before),
        probe_up=status.probe_up if was_trying else None,
        changed_at=now,
    )
    return without_slots(opened, now)
