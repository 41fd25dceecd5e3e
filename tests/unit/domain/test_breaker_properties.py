"""The breaker, whatever comes in whatever order."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.breaker import (
    Go,
    Hold,
    Signal,
    Stop,
    Ticket,
    admit,
    after_answer,
    is_free,
    paused,
    probed,
    resumed,
    tripped,
)
from domain.payer_status import PayerLimits, PayerState, PayerStatus, PlannedDowntime
from domain.slots import Wait, opening, plan

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

moments = st.integers(0, 6 * 3600).map(lambda seconds: NOW + timedelta(seconds=seconds))
limits_drawn = st.builds(
    PayerLimits,
    per_minute=st.integers(1, 600),
    at_once=st.integers(1, 8),
    threshold=st.integers(1, 6),
    unclear_threshold=st.integers(1, 12),
    share=st.sampled_from([0.5, 0.75, 1.0]),
    needs_proof=st.booleans(),
    windows=st.lists(
        st.builds(
            lambda start, length: PlannedDowntime(start, start + length * MINUTE), moments, st.integers(1, 90)
        ),
        max_size=2,
    ).map(tuple),
)
words = st.sampled_from(Signal)
tickets = st.builds(Ticket, st.none() | moments, st.none() | moments.map(lambda m: m + 2 * 60 * MINUTE))
Step = Callable[[PayerStatus, PayerLimits, datetime], PayerStatus]


def _heard(word: Signal, wish: int | None) -> Step:
    after = None if wish is None else timedelta(seconds=wish)
    return lambda status, limits, now: after_answer(status, word, limits, now, reason="x", retry_after=after)


all_but_resume = st.one_of(
    st.builds(_heard, words, st.none() | st.integers(0, 7200)),
    st.builds(lambda up: lambda status, _, now: probed(status, now, up=up), st.booleans()),
    st.builds(
        lambda until: lambda status, _, now: paused(status, "x", max(until, now + MINUTE), now), moments
    ),
    st.just(lambda status, _, now: paused(status, "x", None, now)),
    st.just(lambda status, limits, now: tripped(status, "x", limits, now)),
    st.builds(
        lambda ticket, n: lambda s, limits, now: admit(s, ticket, n, limits, now)[0],
        tickets,
        st.integers(0, 9),
    ),
)
steps = st.one_of(all_but_resume, st.just(lambda status, _, now: resumed(status, now)))


@dataclass(frozen=True, slots=True)
class Story:
    """A payer after many things have happened to it."""

    status: PayerStatus
    limits: PayerLimits
    now: datetime


@st.composite
def stories(draw: st.DrawFn) -> Story:
    limits, now = draw(limits_drawn), NOW
    status = PayerStatus("p", now)
    for step in draw(st.lists(steps, max_size=25)):
        now += timedelta(seconds=draw(st.integers(0, 1200)))
        status = step(status, limits, now)
    return Story(status, limits, now)


@given(stories(), tickets, st.integers(0, 9))
@settings(max_examples=400)
def test_nobody_goes_where_nobody_may_and_everybody_who_waits_comes_back_later(
    story: Story, ticket: Ticket, in_flight: int
) -> None:
    status, limits, now = story.status, story.limits, story.now
    after, verdict = admit(status, ticket, in_flight, limits, now)
    if isinstance(verdict, Hold):
        assert verdict.resume_at > now
        if ticket.deadline and verdict.reason != "waits for its turn at the payer's pace":
            assert verdict.resume_at <= ticket.deadline - limits.reserve + timedelta(seconds=1)
    if isinstance(verdict, Stop):
        assert ticket.deadline is not None
    if isinstance(verdict, Go):
        assert status.state is not PayerState.STOPPED
        early = status.next_try_at is None or status.next_try_at > now
        assert not (status.state in (PayerState.OPEN, PayerState.PAUSED) and early)
        assert opening(limits, now) == now
        assert status.not_before is None or status.not_before <= now
        assert in_flight < (limits.at_once if is_free(after, limits) else limits.trials)


@given(stories())
@settings(max_examples=300)
def test_a_payer_that_recovers_always_gets_well_without_help(story: Story) -> None:
    """Unless a person paused it, or its credentials were refused: then a person's word is awaited."""
    status, limits, now = replace(story.status, failures=0), replace(story.limits, windows=()), story.now
    if status.state is PayerState.STOPPED or (status.state is PayerState.PAUSED and not status.next_try_at):
        status = resumed(status, now)
    for _ in range(8):
        status, verdict = admit(status, Ticket(), 0, limits, now)
        if isinstance(verdict, Go):
            status = after_answer(status, Signal.ANSWERED, limits, now)
        else:
            assert isinstance(verdict, Hold)
            now = verdict.resume_at
        if status.proven and is_free(status, limits):
            break
    assert status.state is PayerState.CLOSED
    assert is_free(status, limits)


@given(stories(), st.lists(st.tuples(all_but_resume, st.integers(0, 7200)), max_size=15))
def test_nothing_but_a_persons_resume_ends_a_stop(story: Story, later: list[tuple[Step, int]]) -> None:
    now, status = (
        story.now,
        after_answer(story.status, Signal.DENIED, story.limits, story.now, reason="login"),
    )
    for step, seconds in later:
        now += timedelta(seconds=seconds)
        status = step(status, story.limits, now)
        assert status.state is PayerState.STOPPED
        assert isinstance(admit(status, Ticket(), 0, story.limits, now)[1], Hold)
    assert resumed(status, now).state is PayerState.CLOSED


@dataclass
class Crowd:
    """Claims that do what they are told, on one payer."""

    limits: PayerLimits
    status: PayerStatus
    gone: list[datetime]
    slots: dict[int, datetime]

    def arrive(self, claim: int, now: datetime) -> datetime | None:
        """When the claim comes back; None when it went."""
        ticket = Ticket(self.slots.get(claim))
        self.status, verdict = admit(self.status, ticket, 0, self.limits, now)
        if isinstance(verdict, Hold):
            self.slots[claim] = verdict.slot_at
            return verdict.resume_at
        self.gone.append(now)
        self.slots.pop(claim, None)
        return None

    def recover(self, now: datetime) -> None:
        """An outage ends: all that wait get new slots."""
        waits = [Wait(str(claim), "p", now, now) for claim in self.slots]
        self.status, planned = plan(self.status, waits, self.limits, now)
        self.slots = {int(slot.claim_id): slot.at for slot in planned}


def busiest_minute(gone: list[datetime]) -> int:
    gone = sorted(gone)
    return max(sum(start <= other < start + MINUTE for other in gone) for start in gone)


@given(
    arrivals=st.lists(st.integers(0, 300), min_size=1, max_size=120),
    lateness=st.lists(st.integers(0, 20), min_size=1, max_size=20),
    per_minute=st.integers(1, 60),
    share=st.sampled_from([0.5, 0.75, 1.0]),
    recovery=st.none() | st.integers(0, 300),
)
@settings(max_examples=150, deadline=None)
def test_no_minute_sees_more_than_the_pace_and_a_small_grace(
    arrivals: list[int], lateness: list[int], per_minute: int, share: float, recovery: int | None
) -> None:
    limits = PayerLimits(per_minute=per_minute, share=share, needs_proof=False)
    crowd = Crowd(limits, PayerStatus("p", NOW), [], {})
    coming = sorted((NOW + timedelta(seconds=second), claim) for claim, second in enumerate(arrivals))
    pending, patience = recovery, 50 * len(arrivals)
    while coming:
        patience -= 1
        assert patience > 0
        now, claim = coming.pop(0)
        if pending is not None and now >= NOW + timedelta(seconds=pending):
            crowd.recover(now)
            pending = None
        if (back := crowd.arrive(claim, now)) is not None:
            late = timedelta(seconds=lateness[claim % len(lateness)])
            coming = sorted([*coming, (back + late, claim)])
    assert busiest_minute(crowd.gone) <= (MINUTE + limits.grace) / limits.interval + 1
    assert len(crowd.gone) == len(arrivals)


@given(st.lists(st.tuples(st.none() | moments, moments), max_size=40), limits_drawn)
def test_slots_follow_the_deadlines(
    drawn: list[tuple[datetime | None, datetime]], limits: PayerLimits
) -> None:
    waits = [
        Wait(f"c{n:02}", "p", since, since, deadline=deadline) for n, (deadline, since) in enumerate(drawn)
    ]
    _, slots = plan(PayerStatus("p", NOW), waits, limits, NOW)
    by_id = {wait.claim_id: wait for wait in waits}
    deadlines = [by_id[slot.claim_id].deadline or datetime.max.replace(tzinfo=UTC) for slot in slots]
    assert deadlines == sorted(deadlines)
    assert [slot.at for slot in slots] == sorted({slot.at for slot in slots})
    assert all(opening(limits, slot.at) == slot.at > NOW for slot in slots)
