"""What a payer would have answered: outages by the clock, everything else as each claim was answered."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median_low

from domain.payer_answers import is_processed
from domain.submission import Accepted, AnswerLost, Failed, Settled
from domain.what_if.history import Ending, PastClaim, PastSend

TAKEN = Accepted("played")
"""The answer to a claim that was only ever sent during outages: nothing speaks against it."""


@dataclass(frozen=True, slots=True)
class OutageEpisode:
    """A payer was away: seen from `start` to `last_seen`, and proven to be back at `proven_back`.

    When it really came back nobody knows: `end`, the middle, is a guess.
    """

    start: datetime
    last_seen: datetime
    proven_back: datetime | None
    answer: Settled

    @property
    def end(self) -> datetime | None:
        """When it is taken to have come back; never, where nothing proves it."""
        back = self.proven_back
        return back and self.last_seen + (back - self.last_seen) / 2

    def covers(self, moment: datetime) -> bool:
        """Whether the payer is taken to be away."""
        return self.start <= moment and (self.end is None or moment < self.end)

    def is_unsure(self, moment: datetime) -> bool:
        """Whether nobody knows, at this moment, if the payer was away."""
        return moment > self.last_seen and (self.proven_back is None or moment < self.proven_back)


def is_outage(result: Settled | None) -> bool:
    """Whether an answer says that nobody else's claim would have arrived either."""
    return isinstance(result, Failed | AnswerLost) and result.payer_down


def episodes(sends: Iterable[PastSend]) -> tuple[OutageEpisode, ...]:
    """A payer's outages, from all sends to it."""
    found: list[OutageEpisode] = []
    going_on: OutageEpisode | None = None
    for send in sorted((one for one in sends if one.result), key=lambda one: one.at):
        result = send.result
        if result is not None and is_outage(result):
            start = going_on.start if going_on else send.at
            going_on = OutageEpisode(start, send.at, None, result)
        elif going_on and result is not None and is_processed(result):
            found.append(OutageEpisode(going_on.start, going_on.last_seen, send.at, going_on.answer))
            going_on = None
    return (*found, going_on) if going_on else tuple(found)


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer in the play: how long it took, and whether it is a guess."""

    result: Settled
    lasted: timedelta
    is_unsure: bool


@dataclass(slots=True)
class PayerMemory:
    """One payer as it is remembered; each claim's own answers are given once, in their order."""

    outages: Sequence[OutageEpisode]
    usual: timedelta
    not_over: frozenset[str]
    _own: Mapping[str, Sequence[PastSend]]
    _given: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @classmethod
    def of(cls, claims: Sequence[PastClaim]) -> "PayerMemory":
        """What claims to one payer tell of it."""
        sends = [send for claim in claims for send in claim.sends]
        usual = median_low(send.lasted for send in sends) if sends else timedelta()
        own = {claim.claim_id: [one for one in claim.sends if not is_outage(one.result)] for claim in claims}
        not_over = frozenset(claim.claim_id for claim in claims if claim.real.ending is Ending.RUNNING)
        return cls(episodes(sends), usual, not_over, own)

    def answer(self, claim_id: str, at: datetime) -> GivenAnswer | None:
        """What a send of a claim at a moment comes to; None where its story really is not over."""
        outage = self._outage(at)
        unsure = outage is not None and outage.is_unsure(at)
        if outage and outage.covers(at):
            return GivenAnswer(outage.answer, self.usual, unsure)
        own, place = self._own[claim_id], self._given[claim_id]
        if place >= len(own):
            return None if own and claim_id in self.not_over else self._beyond(own)
        self._given[claim_id] += 1
        known = own[place].result
        return GivenAnswer(known or TAKEN, own[place].lasted, unsure or known is None)

    def _beyond(self, own: Sequence[PastSend]) -> GivenAnswer:
        """More sends than there were: refused again as it was last; taken where only outages kept it away."""
        last = own[-1].result if own else None
        return GivenAnswer(last or TAKEN, self.usual, is_unsure=True)

    def _outage(self, at: datetime) -> OutageEpisode | None:
        """The last outage that had begun."""
        place = bisect_right(self.outages, at, key=lambda one: one.start)
        return self.outages[place - 1] if place else None
