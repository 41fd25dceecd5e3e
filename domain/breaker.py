"""The circuit breaker of one payer: who may go, who waits until when, and what each result changes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from domain.durations import ONE_SECOND, whole_second
from domain.payer_answers import Result, is_processed, wish_of
from domain.payer_status import PayerLimits, PayerState, PayerStatus
from domain.redaction import redact
from domain.slots import (
    UNPACED,
    Slot,
    Wait,
    draw,
    draw_timer,
    draw_waiting,
    give,
    latest,
    opening,
    with_new_lanes,
)
from domain.submission import AccessDenied, AnswerLost, Failed
from domain.verdicts import Candidate, Go, Hold, NoPlace, Stop, Verdict

MAINTENANCE = "outside the payer's hours, or planned maintenance"
ASKED_TO_WAIT = "the payer asked to come later"
OWN_PACE = "waits for its turn at the payer's pace"
PAUSED_BY_HAND = "the payer is paused by an operator"
OPENED_BY_HAND = "the payer is held by an operator"
BY_HAND = (PAUSED_BY_HAND, OPENED_BY_HAND)
"""What a person's order is called where the engine may hear of it; why it was given stays with the order."""
STOPPED = "all sends to this payer have stopped by its answer to another claim: see `reenvio payer show`"
TRIAL_RUNS = "one claim tries first whether the payer takes claims"


@dataclass(frozen=True, slots=True)
class Breaker:
    """One payer's breaker at one moment; it changes nothing, its methods give the status to be kept."""

    status: PayerStatus
    limits: PayerLimits
    now: datetime

    @property
    def is_free(self) -> bool:
        """Whether claims go by pace alone: the payer is healthy and our credentials have worked."""
        proven = self.status.proven or not self.limits.needs_proof
        return self.status.state is PayerState.CLOSED and proven

    @property
    def is_barred(self) -> bool:
        """Whether nobody may go now."""
        return self._barred()[0] > self.now

    @property
    def places(self) -> int:
        """How many calls may be under way at once."""
        return self.limits.at_once if self.is_free else self.limits.trials

    @property
    def gives_slots(self) -> bool:
        """Whether claims wait without a slot, and the slots given so far do not reach far enough ahead."""
        until = self.status.slots_until
        return self.is_free and until is not None and until < self.now + self.limits.ahead

    def aged(self) -> Self:
        """With what time alone changes: an open breaker tries when its wait is over, a pause ends.

        Slots that reach further than any were given come from a window that was taken back, or from a clock
        that was wrong: they are void.
        """
        status = self.status
        due = status.next_try_at is not None and status.next_try_at <= self.now
        if due and status.state is PayerState.OPEN:
            return self._with(replace(status, state=PayerState.HALF_OPEN, changed_at=self.now))
        if due and status.state is PayerState.PAUSED:
            return self._with(self.resumed())
        if self._reaches_too_far():
            return self._with(with_new_lanes(status, self.limits, self.now))
        return self

    def admit(self, candidate: Candidate, in_flight: int) -> tuple[PayerStatus, Verdict]:
        """Let a claim go, or say when it may come back; the status is to be kept either way."""
        return self.aged()._admit(candidate, in_flight)

    def give(self, waits: Sequence[Wait]) -> tuple[PayerStatus, tuple[Slot, ...]]:
        """Slots for claims that wait, in their order; one that tries whether the payer is back comes now."""
        if self.is_free:
            return give(self.status, waits, self.limits, self.now)
        return self.status, tuple(Slot(wait.claim_id, self.now) for wait in waits)

    def called(self) -> PayerStatus:
        """The status when one more send or question leaves: it counts in the pace."""
        paced_until = latest(self.now, self.status.paced_until) + self.limits.interval
        return replace(self.status, paced_until=paced_until)

    def after_send(self, result: Result, *, again: bool = False) -> PayerStatus:
        """The status after a send.

        `again`: an earlier send of the claim had no clear answer either, so it may be the claim's fault.
        """
        waiting = self._asked_to_wait(result)
        if is_processed(result):
            return waiting._answered()
        match result:
            case AccessDenied(error=error):
                return waiting._stopped(redact(error))
            case AnswerLost(denial=denial) if denial:
                return waiting._stopped(redact(denial))
            case Failed(error=error, payer_down=True) | AnswerLost(error=error, payer_down=True):
                return waiting._failed(redact(error), opens_at=self.limits.threshold)
            case AnswerLost(error=error) if not again:
                return waiting._failed(redact(error), opens_at=self.limits.unclear_threshold)
            case AnswerLost(error=error) if self.status.state is PayerState.HALF_OPEN:
                return waiting._opened(redact(error))
            case _:
                return waiting.status

    def after_question(self, result: Result) -> PayerStatus:
        """The status after a question: trouble counts as after a send, any other answer proves nothing.

        Whoever answers questions need not take claims.
        """
        return self._asked_to_wait(result).status if is_processed(result) else self.after_send(result)

    def probed(self, *, up: bool) -> PayerStatus:
        """The status after a probe: "up" begins a trial, never more.

        An "up" that a trial has proven wrong counts again only after a "down", or the probe of a payer
        whose entrance answers while its system is out would cost one claim's attempt at every run.
        """
        news = up and self.status.probe_up is not True
        status = replace(self.status, probed_at=self.now, probe_up=up)
        if news and status.state is PayerState.OPEN:
            return self._with(status)._trial()
        return self._with(status).aged().status

    def paused(self, until: datetime | None) -> PayerStatus:
        """A person holds all sends, until a moment or until resumed; refused credentials hold them longer."""
        status = self.status
        if status.state is PayerState.STOPPED:
            return status
        held = replace(status, state=PayerState.PAUSED, reason=PAUSED_BY_HAND, next_try_at=until)
        return replace(held, opened_at=status.opened_at or self.now, changed_at=self.now)

    def resumed(self) -> PayerStatus:
        """Sends are allowed again; credentials have to prove themselves with one claim first."""
        return with_new_lanes(self.status.renewed(self.now), self.limits, self.now)

    def tripped(self) -> PayerStatus:
        """A person opens the breaker, as an outage would; one that waits for credentials stays as it is."""
        return self.status if self.status.state is PayerState.STOPPED else self._opened(OPENED_BY_HAND)

    def _with(self, status: PayerStatus) -> Self:
        return replace(self, status=status)

    def _admit(self, candidate: Candidate, in_flight: int) -> tuple[PayerStatus, Verdict]:
        now, limits = self.now, self.limits
        base, reason = self._barred()
        if base > now:
            wait = self._wait_on if self._is_open_ended or self._is_put_off(candidate, base) else self._wait
            return wait(candidate, base, reason)
        if not self.is_free:
            return self._try(candidate, in_flight)
        if self._is_in_line(candidate):
            return self._wait_on(candidate, now + limits.first_wait, OWN_PACE)
        if in_flight >= limits.at_once:
            return self._wait_for_a_place(candidate)
        paced = latest(now, self.status.paced_until) - limits.grace
        if candidate.slot_at and candidate.slot_at - limits.early <= now and paced <= now:
            return self.called(), Go()
        return self._queue(candidate, max(now, paced))

    def _barred(self) -> tuple[datetime, str]:
        """Until when nobody may go, and why; now or earlier when somebody may."""
        status, limits, now = self.status, self.limits, self.now
        asked = status.not_before or now
        match status.state:
            case PayerState.OPEN | PayerState.PAUSED if status.next_try_at:
                return opening(limits, latest(status.next_try_at, asked)), self._why
            case PayerState.STOPPED:  # its reason speaks of the claim that was denied
                return now + limits.longest_wait, STOPPED
            case PayerState.OPEN | PayerState.PAUSED:
                return now + limits.longest_wait, self._why
            case _:
                opens = opening(limits, latest(now, asked))
                return opens, MAINTENANCE if opening(limits, now) > now else ASKED_TO_WAIT

    @property
    def _is_open_ended(self) -> bool:
        """Whether nobody can say until when claims are held."""
        match self.status.state:
            case PayerState.OPEN | PayerState.STOPPED:
                return True
            case PayerState.PAUSED:
                return self.status.next_try_at is None
            case _:
                return False

    def _is_put_off(self, candidate: Candidate, base: datetime) -> bool:
        """Whether a claim that came at the end it was told has long to wait again: then nobody knows it."""
        came = candidate.until is not None and candidate.until - self.limits.early <= self.now
        is_planned = opening(self.limits, self.now) > self.now
        return came and not is_planned and base - self.now >= self.limits.first_wait

    @property
    def _why(self) -> str:
        """Why nobody may go; earlier versions kept a person's own words with a pause."""
        return PAUSED_BY_HAND if self.status.state is PayerState.PAUSED else self.status.reason

    def _try(self, candidate: Candidate, in_flight: int) -> tuple[PayerStatus, Verdict]:
        if in_flight >= self.limits.trials:
            reason = self.status.reason or TRIAL_RUNS
            return self._wait_on(candidate, self.now + self.limits.first_wait, reason)
        if (paced := latest(self.now, self.status.paced_until)) > self.now:
            return self._wait(candidate, paced, OWN_PACE)
        return self.called(), Go()

    def _reaches_too_far(self) -> bool:
        until, limits = self.status.slots_until, self.limits
        if until is None or not self.is_free or self.is_barred:
            return False
        reach = limits.ahead + (limits.page + 1) * (limits.wait_interval or UNPACED)
        return until > opening(limits, latest(self.now + reach, self.status.not_before)) + reach

    def _is_in_line(self, candidate: Candidate) -> bool:
        """Whether others are to go first; where nobody was given the next slot, whoever comes takes it."""
        until = self.status.slots_until
        is_given = until is not None and until > self.now + self.limits.interval
        return is_given and candidate.slot_at is None and self._has_waited(candidate)

    def _has_waited(self, candidate: Candidate) -> bool:
        """With the whole share, new claims stand in the same line."""
        return candidate.until is not None or self.limits.share >= 1

    def _wait_for_a_place(self, candidate: Candidate) -> tuple[PayerStatus, Verdict]:
        """Its turn is in the lane, but it comes when a place may be free; those after it need not wait.

        One that has had its slot draws none again: slots that nobody uses would keep others away.
        """
        if candidate.place.asks_again:
            return self.status, NoPlace()
        status, slot = self.status, candidate.slot_at
        if slot is None:
            status, slot = self._drawn(candidate, self.now)
        turn_in = self.limits.busy_wait if candidate.place.turn_in is None else candidate.place.turn_in
        at = max(slot, self.now + turn_in)
        return status, self._hold(candidate, at, OWN_PACE, slot_at=at)

    def _queue(self, candidate: Candidate, base: datetime) -> tuple[PayerStatus, Verdict]:
        """A slot at a payer that is well, in the lane that the claim belongs to."""
        status, slot = self._drawn(candidate, base)
        if self._is_due(slot):
            return self._with(status).called(), Go()
        if slot - self.now < ONE_SECOND:  # no timer is as short
            return self._with(status).called(), Go(slot)
        return status, self._hold(candidate, slot, OWN_PACE, slot_at=slot)

    def _drawn(self, candidate: Candidate, base: datetime) -> tuple[PayerStatus, datetime]:
        if candidate.slot_at and candidate.slot_at > max(self.now, base):
            return self.status, candidate.slot_at
        if self.status.slots_until and self._has_waited(candidate):
            return draw_waiting(self.status, self.limits, base)
        return draw(self.status, self.limits, base)

    def _is_due(self, slot: datetime) -> bool:
        """Without a pace, slots differ only by when those who drew them looked at their clocks."""
        return slot <= self.now if self.limits.interval else slot - self.limits.early <= self.now

    def _wait(self, candidate: Candidate, base: datetime, reason: str) -> tuple[PayerStatus, Verdict]:
        """Until woken; a later slot or timer of its own stays a claim's."""
        if candidate.slot_at and candidate.slot_at >= base:
            return self.status, self._hold(candidate, candidate.slot_at, reason, slot_at=candidate.slot_at)
        status = replace(self.status, slots_until=self.status.slots_until or base)
        if candidate.until and candidate.until >= base:
            return status, self._hold(candidate, candidate.until, reason)
        status, timer = draw_timer(status, self.limits, base)
        return status, self._hold(candidate, timer, reason)

    def _wait_on(self, candidate: Candidate, base: datetime, reason: str) -> tuple[PayerStatus, Verdict]:
        """Where nobody knows the end: from the second time on for as long again as it has waited.

        So a claim costs ever less while it is held; it is woken when it may go.
        """
        waited = self.now - candidate.since if candidate.since else timedelta()
        patient = latest(self.now + min(waited, self.limits.longest_hold), candidate.until)
        return self._wait(replace(candidate, until=patient), base, reason)

    def _hold(
        self, candidate: Candidate, at: datetime, reason: str, *, slot_at: datetime | None = None
    ) -> Hold | Stop:
        is_turn = self.is_free and not self.is_barred  # at a payer that is well it may take a person's time
        last = candidate.deadline and candidate.deadline - (timedelta() if is_turn else self.limits.reserve)
        if last is not None and last <= self.now:
            return Stop(reason)
        resume_at = at if last is None else min(at, last)
        return Hold(max(whole_second(resume_at), self.now + ONE_SECOND), reason, slot_at)

    def _asked_to_wait(self, result: Result) -> Self:
        """With the payer's wish to come later, whatever else its answer says."""
        if (wish := wish_of(result, self.limits.busy_wait)) is None:
            return self
        return self._with(replace(self.status, not_before=latest(self.now + wish, self.status.not_before)))

    def _answered(self) -> PayerStatus:
        match self.status.state:
            case PayerState.CLOSED:
                proven = replace(self.status, failures=0, openings=0, proven=True)
                return proven if self.is_free else with_new_lanes(proven, self.limits, self.now)
            case PayerState.HALF_OPEN:
                return replace(self.resumed(), proven=True)
            case PayerState.OPEN:  # a send from before the breaker opened: a hint, no proof
                return self._trial()
            case _:
                return self.status

    def _trial(self) -> PayerStatus:
        return replace(self.status, state=PayerState.HALF_OPEN, next_try_at=self.now, changed_at=self.now)

    def _stopped(self, reason: str) -> PayerStatus:
        stopped = replace(self.status, state=PayerState.STOPPED, proven=False, next_try_at=None)
        opened_at = self.status.opened_at or self.now
        return replace(stopped, reason=reason, opened_at=opened_at, changed_at=self.now)

    def _failed(self, reason: str, *, opens_at: int) -> PayerStatus:
        counted = replace(self.status, failures=self.status.failures + 1)
        tries = counted.state is PayerState.HALF_OPEN
        if tries or (counted.state is PayerState.CLOSED and counted.failures >= opens_at):
            return self._with(counted)._opened(reason)
        return counted

    def _opened(self, reason: str) -> PayerStatus:
        status, limits, now = self.status, self.limits, self.now
        wait = min(limits.first_wait * 2 ** min(status.openings, 10), limits.longest_wait)
        was_trying = status.state is PayerState.HALF_OPEN
        return replace(
            status,
            state=PayerState.OPEN,
            reason=reason,
            openings=status.openings + 1,
            opened_at=status.opened_at or now,
            next_try_at=latest(now + wait, status.not_before),
            probe_up=status.probe_up if was_trying else None,
            changed_at=now,
        )
