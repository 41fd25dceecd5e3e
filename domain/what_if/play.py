"""Plays the claims of one payer after the other through the real decision and the real breaker."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum
from functools import partial
from heapq import heappop, heappush

from domain.breaker import Breaker
from domain.claim import ClaimId, ClaimIdForm, is_claim_id
from domain.decision import HELD_TO_DEADLINE, Decision, Retry, RetryRequest, decide
from domain.kpis.rounds import given_up_by
from domain.payer_status import PayerLimits, PayerStatus
from domain.policy import Policy
from domain.slots import Wait, latest, slot_of
from domain.submission import (
    Accepted,
    AccessDenied,
    AnswerLost,
    ArrivalUnknown,
    Failed,
    ProtocolMissing,
    Settled,
)
from domain.verdicts import Candidate, Go, Hold, Stop
from domain.what_if.history import Ending, PastClaim, PayerHold, PlayedClaim, StoredHistory
from domain.what_if.story import ClaimStory
from domain.what_if.world import PayerMemory

LimitsOf = Callable[[str], PayerLimits]
Progress = Callable[[int, int], None]
TELL_EVERY = 1_000


def nobody_looks(_done: int, _of: int) -> None:
    """For who does not want to know how far it is."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What is tried: a policy, and how payers are treated."""

    policy: Policy
    limits: LimitsOf


def play(history: StoredHistory, rules: Rules, progress: Progress = nobody_looks) -> tuple[PlayedClaim, ...]:
    """What becomes of each claim by these rules; the same history and rules always give the same."""
    by_payer: defaultdict[str, list[PastClaim]] = defaultdict(list)
    for claim in history.claims:
        by_payer[claim.payer_id].append(claim)
    played: dict[str, PlayedClaim] = {}
    for payer_id, claims in sorted(by_payer.items()):
        holds = [hold for hold in history.holds if hold.payer_id == payer_id]
        stage, before = PayerPlay.of(payer_id, claims, rules, history.until), len(played)
        tell = partial(_tell, progress, before, len(history.claims))
        played |= {one.claim_id: one for one in stage.run(holds, tell)}
        tell(len(claims))
    return tuple(played[claim.claim_id] for claim in history.claims)


def _tell(progress: Progress, before: int, of: int, over: int) -> None:
    progress(before + over, of)


class _What(IntEnum):
    """What happens; of what happens at one moment, answers come first."""

    ANSWER = 0
    HELD = 1
    RELEASED = 2
    COMES = 3


_Event = tuple[datetime, int, int, str, int]
"""When, what, in which order, whose, and which of its turns."""


@dataclass(slots=True)
class PayerPlay:
    """One payer: its breaker, those that wait for it, and what is still to happen."""

    policy: Policy
    limits: PayerLimits
    until: datetime
    status: PayerStatus
    memory: PayerMemory
    stories: Mapping[str, ClaimStory]
    waits: dict[str, Wait] = field(default_factory=dict)
    under_way: dict[str, Settled] = field(default_factory=dict)
    events: list[_Event] = field(default_factory=list)
    number: int = 0

    @classmethod
    def of(cls, payer_id: str, claims: Sequence[PastClaim], rules: Rules, until: datetime) -> "PayerPlay":
        """The payer before the first of its claims comes."""
        first = min(claim.came_at for claim in claims)
        return cls(
            policy=rules.policy.for_payer(payer_id),
            limits=rules.limits(payer_id),
            until=until,
            status=PayerStatus(payer_id, first, proven=True),
            memory=PayerMemory.of(claims),
            stories={claim.claim_id: ClaimStory(claim) for claim in claims},
        )

    def run(self, holds: Sequence[PayerHold], tell: Callable[[int], None]) -> Sequence[PlayedClaim]:
        """Let everything happen, moment after moment, until the end of what is known."""
        for hold in holds:
            self._add(hold.start, _What.HELD)
            if hold.end:
                self._add(hold.end, _What.RELEASED)
        for story in self.stories.values():
            self._add(story.claim.came_at, _What.COMES, story.claim.claim_id)
        while self.events and self.events[0][0] <= self.until:
            at, what, _, claim_id, turn = heappop(self.events)
            self._happens(_What(what), at, self.stories.get(claim_id), turn)
            if self.number % TELL_EVERY == 0:
                tell(sum(story.is_over for story in self.stories.values()))
        return [self._over(story).told() for story in self.stories.values()]

    def _over(self, story: ClaimStory) -> ClaimStory:
        """One that a person ended while it waited needs no moment of its own for it."""
        ended = story.claim.ended_by_person_at
        if ended and ended <= self.until and not story.is_over:
            story.end(Ending.BY_PERSON, ended)
        return story

    def _happens(self, what: _What, now: datetime, story: ClaimStory | None, turn: int) -> None:
        if what is _What.HELD:
            self.status = self._breaker(now).paused(None)
        elif what is _What.RELEASED:
            self.status = replace(self._breaker(now).resumed(), proven=True)
            self._wake(now)
        elif story and what is _What.ANSWER:
            self._answered(story, now)
        elif story and turn == story.turn and not story.is_over:
            self._comes(story, now)

    def _comes(self, story: ClaimStory, now: datetime) -> None:
        claim = story.claim
        if claim.ended_by_person_at and claim.ended_by_person_at <= now:
            story.end(Ending.BY_PERSON, claim.ended_by_person_at)
            return
        self.status, verdict = self._breaker(now).admit(self._candidate(claim, now), len(self.under_way))
        match verdict:
            case Go(at):
                self._send(story, at or now)
            case Hold():
                self._holds(claim, verdict, now)
                self._again(story, verdict.resume_at)
            case Stop(reason):
                self._decided(story, Failed(reason, HELD_TO_DEADLINE), now)
            case _:
                self._again(story, now + self.limits.busy_wait)

    def _candidate(self, claim: PastClaim, now: datetime) -> Candidate:
        wait = self.waits.get(claim.claim_id)
        fresh = Candidate(claim.claim_id, claim.payer_id, claim.deadline)
        if wait is None:
            return fresh
        status = self._breaker(now).aged().status
        return replace(fresh, since=wait.since, until=wait.until, slot_at=slot_of(wait, status))

    def _send(self, story: ClaimStory, at: datetime) -> None:
        claim_id = story.claim.claim_id
        self.waits.pop(claim_id, None)
        if (given := self.memory.answer(claim_id, at)) is None:
            return  # it goes on, and nobody knows how
        story.sends.append(at)
        story.unsure += given.is_unsure
        self.under_way[claim_id] = given.result
        self._add(at + given.lasted, _What.ANSWER, claim_id)

    def _holds(self, claim: PastClaim, hold: Hold, now: datetime) -> None:
        before = self.waits.get(claim.claim_id)
        self.waits[claim.claim_id] = Wait(
            claim_id=claim.claim_id,
            payer_id=claim.payer_id,
            since=before.since if before else now,
            until=min(hold.resume_at, hold.slot_at or hold.resume_at),
            slot_at=hold.slot_at,
            deadline=claim.deadline,
            woken_at=hold.slot_at and latest(now, self.status.changed_at),
        )

    def _answered(self, story: ClaimStory, now: datetime) -> None:
        result = self.under_way.pop(story.claim.claim_id)
        before, again = self._breaker(now), story.lost_before
        self.status = before.after_send(result, again=again)
        story.lost_before = again or isinstance(result, AnswerLost)
        match result:
            case Accepted() | ProtocolMissing():
                story.end(Ending.RECOVERED if story.first_failed_at else Ending.AT_ONCE, now)
            case AccessDenied():
                story.end(Ending.STANDS, now)
            case Failed() | AnswerLost() | ArrivalUnknown():
                self._decided(story, result, now)
        after = self._breaker(now)
        if after.gives_slots or not (before.is_free and after.is_free):
            self._wake(now)

    def _decided(
        self, story: ClaimStory, result: Failed | AnswerLost | ArrivalUnknown, now: datetime
    ) -> None:
        decision = decide(self._request(story, result), self.policy, now)
        story.first_failed_at = story.first_failed_at or now
        if isinstance(decision, Retry):
            story.retry_count, story.is_retried = decision.retry_count, True
            self._again(story, decision.next_retry_time)
        else:
            story.end(_ending(decision), now)

    def _request(self, story: ClaimStory, result: Failed | AnswerLost | ArrivalUnknown) -> RetryRequest:
        return RetryRequest(
            claim_id=_claim_id(story.claim.claim_id),
            submission_error=result.error,
            error_code=result.code,
            retry_count=story.retry_count,
            deadline=story.claim.deadline,
        )

    def _wake(self, now: datetime) -> None:
        """Slots for the most urgent that wait, as many as there is room for."""
        breaker = self._breaker(now).aged()
        if (room := self._room(breaker)) <= 0:
            return
        waiting = [wait for wait in self.waits.values() if slot_of(wait, breaker.status) is None]
        self.status, slots = breaker.give(sorted(waiting, key=_urgency)[:room])
        for slot in slots:
            given = latest(now, self.status.changed_at)
            self.waits[slot.claim_id] = replace(self.waits[slot.claim_id], slot_at=slot.at, woken_at=given)
            self._again(self.stories[slot.claim_id], max(slot.at, now))

    def _room(self, breaker: Breaker) -> int:
        if breaker.is_barred:
            return 0
        if not breaker.is_free:
            return breaker.places - len(self.under_way)
        return 0 if not breaker.gives_slots and breaker.status.slots_until else breaker.limits.page

    def _breaker(self, now: datetime) -> Breaker:
        return Breaker(self.status, self.limits, now)

    def _again(self, story: ClaimStory, at: datetime) -> None:
        """It comes then, and at no moment that was named before."""
        story.turn += 1
        self._add(at, _What.COMES, story.claim.claim_id, story.turn)

    def _add(self, at: datetime, what: _What, claim_id: str = "", turn: int = 0) -> None:
        self.number += 1
        heappush(self.events, (at, what, self.number, claim_id, turn))


def _urgency(wait: Wait) -> tuple[bool, datetime, datetime, str]:
    """The nearest deadline first, those without one last."""
    return wait.deadline is None, wait.deadline or wait.since, wait.since, wait.claim_id


def _claim_id(text: str) -> ClaimId:
    """An id that was taken once is taken again, whatever form a policy asks for."""
    return ClaimId(text, ClaimIdForm.CLM if is_claim_id(text) else ClaimIdForm.REFERENCE)


def _ending(decision: Decision) -> Ending:
    return Ending(given_up_by(decision) or Ending.RUNNING)
