"""The breaker, whatever comes in whatever order."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.breaker import Breaker
from domain.payer_answers import Result
from domain.payer_status import PayerLimits, PayerState, PayerStatus, PlannedDowntime
from domain.slots import Wait, opening, slot_of
from domain.submission import Accepted, AccessDenied, AnswerLost, Failed
from domain.verdicts import Candidate, Go, Hold, Stop

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
CLAIM, ACCEPTED, DENIED = Candidate("c", "p"), Accepted("1"), AccessDenied("login")
wishes = st.none() | st.integers(0, 7200).map(lambda seconds: timedelta(seconds=seconds))
codes = st.sampled_from([None, "HTTP:429", "HTTP:500", "TISS:1001"])
results: st.SearchStrategy[Result] = st.one_of(
    st.sampled_from([ACCEPTED, DENIED]),
    st.builds(Failed, st.just("x"), codes, wishes, st.booleans()),
    st.builds(AnswerLost, st.just("x"), codes, wishes, st.booleans()),
)
candidates = st.builds(
    Candidate,
    claim_id=st.just("c"),
    payer_id=st.just("p"),
    deadline=st.none() | moments.map(lambda m: m + 2 * 60 * MINUTE),
    until=st.none() | moments,
    slot_at=st.none() | moments,
)
Step = Callable[[Breaker], PayerStatus]

all_but_resume: st.SearchStrategy[Step] = st.one_of(
    st.builds(lambda result, again: lambda b: b.after_send(result, again=again), results, st.booleans()),
    st.builds(lambda result: lambda b: b.after_question(result), results),
    st.builds(lambda up: lambda b: b.probed(up=up), st.booleans()),
    st.builds(lambda until: lambda b: b.paused(max(until, b.now + MINUTE)), moments),
    st.just(lambda b: b.paused(None)),
    st.just(lambda b: b.tripped()),
    st.builds(lambda claim, n: lambda b: b.admit(claim, n)[0], candidates, st.integers(0, 9)),
)
steps = st.one_of(all_but_resume, st.just(Breaker.resumed))


@st.composite
def stories(draw: st.DrawFn) -> Breaker:
    """A payer's breaker after many things have happened to it."""
    breaker = Breaker(PayerStatus("p", NOW), draw(limits_drawn), NOW)
    for step in draw(st.lists(steps, max_size=25)):
        breaker = replace(breaker, now=breaker.now + timedelta(seconds=draw(st.integers(0, 1200))))
        breaker = replace(breaker, status=step(breaker))
    return breaker


@given(stories(), candidates, st.integers(0, 9))
@settings(max_examples=400)
def test_nobody_goes_where_nobody_may_and_everybody_who_waits_comes_back_later(
    breaker: Breaker, claim: Candidate, in_flight: int
) -> None:
    status, limits, now = breaker.status, breaker.limits, breaker.now
    after, verdict = breaker.admit(claim, in_flight)
    if isinstance(verdict, Hold):
        assert verdict.resume_at > now
        if claim.deadline and verdict.reason != "waits for its turn at the payer's pace":
            assert verdict.resume_at <= claim.deadline - limits.reserve + timedelta(seconds=1)
    if isinstance(verdict, Stop):
        assert claim.deadline is not None
    if isinstance(verdict, Go):
        assert status.state is not PayerState.STOPPED
        early = status.next_try_at is None or status.next_try_at > now
        assert not (status.state in (PayerState.OPEN, PayerState.PAUSED) and early)
        assert opening(limits, now) == now
        assert status.not_before is None or status.not_before <= now
        is_free = replace(breaker, status=after).is_free
        assert in_flight < (limits.at_once if is_free else limits.trials)


@given(stories())
@settings(max_examples=300)
def test_a_payer_that_recovers_always_gets_well_without_help(breaker: Breaker) -> None:
    """Unless a person paused it, or its credentials were refused: then a person has to resume it."""
    status, now = replace(breaker.status, failures=0), breaker.now
    limits = replace(breaker.limits, windows=())
    if status.state is PayerState.STOPPED or (status.state is PayerState.PAUSED and not status.next_try_at):
        status = Breaker(status, limits, now).resumed()
    for _ in range(8):
        status, verdict = Breaker(status, limits, now).admit(CLAIM, 0)
        if isinstance(verdict, Go):
            status = Breaker(status, limits, now).after_send(ACCEPTED)
        else:
            assert isinstance(verdict, Hold)
            now = verdict.resume_at
        if status.proven and Breaker(status, limits, now).is_free:
            break
    assert status.state is PayerState.CLOSED
    assert Breaker(status, limits, now).is_free


@given(stories(), st.lists(st.tuples(all_but_resume, st.integers(0, 7200)), max_size=15))
def test_nothing_but_a_persons_resume_ends_a_stop(breaker: Breaker, later: list[tuple[Step, int]]) -> None:
    breaker = replace(breaker, status=breaker.after_send(DENIED))
    for step, seconds in later:
        breaker = replace(breaker, now=breaker.now + timedelta(seconds=seconds))
        breaker = replace(breaker, status=step(breaker))
        assert breaker.status.state is PayerState.STOPPED
        assert isinstance(breaker.admit(CLAIM, 0)[1], Hold)
    assert breaker.resumed().state is PayerState.CLOSED


@dataclass
class Crowd:
    """Claims that come back when they are asked to, at one payer; each is so many seconds late."""

    limits: PayerLimits
    lateness: list[int]
    status: PayerStatus = field(default_factory=lambda: PayerStatus("p", NOW))
    gone: dict[int, datetime] = field(default_factory=dict)
    waits: dict[int, Wait] = field(default_factory=dict)
    coming: dict[int, datetime] = field(default_factory=dict)

    def arrive(self) -> datetime:
        """The next claim comes, and goes or waits; returns when it came."""
        claim, now = min(self.coming.items(), key=lambda item: (item[1], item[0]))
        del self.coming[claim]
        wait = self.waits.pop(claim, None)
        candidate = CLAIM
        if wait:
            candidate = replace(CLAIM, until=wait.until, slot_at=slot_of(wait, self.status))
        self.status, verdict = Breaker(self.status, self.limits, now).admit(candidate, 0)
        if isinstance(verdict, Hold):
            self.waits[claim] = Wait(str(claim), "p", now, verdict.resume_at, verdict.slot_at, woken_at=now)
            self.call(claim, verdict.resume_at)
        else:
            assert isinstance(verdict, Go)
            self.gone[claim] = verdict.at or now
            self.give(now)
        return now

    def call(self, claim: int, at: datetime) -> None:
        self.coming[claim] = at + timedelta(seconds=self.lateness[claim % len(self.lateness)])

    def recover(self, now: datetime) -> None:
        """An outage ends: nobody's slot counts any more, and all that wait get new ones."""
        waiting = replace(self.status, slots_until=now)
        self.status = Breaker(waiting, self.limits, now).resumed()
        self.give(now)

    def give(self, now: datetime) -> None:
        """The next page, where one is due."""
        breaker = Breaker(self.status, self.limits, now)
        if not breaker.gives_slots:
            return
        line = [(n, wait) for n, wait in sorted(self.waits.items()) if slot_of(wait, self.status) is None]
        page = line[: self.limits.page]
        self.status, slots = breaker.give([wait for _, wait in page])
        for (claim, wait), slot in zip(page, slots, strict=True):
            self.waits[claim] = replace(wait, slot_at=slot.at, woken_at=now)
            self.call(claim, now)


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
def test_no_minute_sees_more_than_the_payer_takes_however_late_claims_come(
    arrivals: list[int], lateness: list[int], per_minute: int, share: float, recovery: int | None
) -> None:
    limits = PayerLimits(per_minute=per_minute, share=share, needs_proof=False)
    crowd = Crowd(limits, lateness)
    crowd.coming = {claim: NOW + timedelta(seconds=second) for claim, second in enumerate(arrivals)}
    pending, patience = recovery, 50 * len(arrivals)
    while crowd.coming:
        patience -= 1
        assert patience > 0
        now = crowd.arrive()
        if pending is not None and now >= NOW + timedelta(seconds=pending):
            crowd.recover(now)
            pending = None
    assert busiest_minute([*crowd.gone.values()]) <= per_minute
    assert len(crowd.gone) == len(arrivals)


@given(
    number=st.integers(1, 400),
    lateness=st.lists(st.integers(0, 4), min_size=1, max_size=20),
    per_minute=st.integers(6, 600),
    new=st.lists(st.integers(0, 120), max_size=30),
)
@settings(max_examples=60, deadline=None)
def test_after_a_recovery_the_pace_is_used_to_nine_tenths_while_claims_wait_and_nobody_is_left(
    number: int, lateness: list[int], per_minute: int, new: list[int]
) -> None:
    limits = PayerLimits(per_minute=per_minute, needs_proof=False)
    crowd = Crowd(limits, lateness)
    crowd.waits = {claim: Wait(str(claim), "p", NOW, NOW + 600 * MINUTE) for claim in range(number)}
    crowd.coming = {number + n: NOW + timedelta(seconds=second) for n, second in enumerate(new)}
    crowd.recover(NOW)
    while crowd.coming:
        crowd.arrive()
    assert len(crowd.gone) == number + len(new)
    drained = max(crowd.gone[claim] for claim in range(number))
    sent = sum(at <= drained for at in crowd.gone.values())
    late = timedelta(seconds=max(lateness) + 1)  # timers end at whole seconds
    assert sent >= 0.9 * (drained - NOW - late) / MINUTE * per_minute - 2
