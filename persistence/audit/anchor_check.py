"""Whether the daily anchors still are what was signed, and how far they prove the events before them."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.retention import LOG_YEARS_AT_LEAST, YEAR
from persistence.audit.anchors import BEFORE_ALL_DAYS, SETTLED_AFTER, Anchor, seal_of, span
from persistence.audit.chain import GENESIS
from persistence.audit.events import Audit
from persistence.audit.seals import Judgement, Seals

RUNS_EVERY = timedelta(days=1)
OVERDUE_AFTER = SETTLED_AFTER + RUNS_EVERY + SETTLED_AFTER
"""How long after its end a day may be without an anchor: the job runs once a day, at any hour."""
LATE_AFTER = timedelta(days=2)
"""How long after its end a day's anchor still proves the day: who removes anchors makes later ones late."""
NOT_RETENTION = f"but retention removes none before {LOG_YEARS_AT_LEAST} years and none ahead of time"


@dataclass(frozen=True, slots=True)
class AnchorCheck:
    """All anchors, oldest first; whatever is before the newest that is signed is proven by it.

    `signed` holds the places of those that bear our signature; `proven_through` is the number of the last
    event that one of them holds.
    """

    anchors: Sequence[Anchor]
    judgements: Sequence[Judgement]
    signed: Sequence[int]
    proven_through: int
    now: datetime

    @property
    def begins_at(self) -> int:
        """The place of the newest beginning that is proven; -1 without any."""
        last_signed = self.signed[-1] if self.signed else -1
        proven = [place for place, one in enumerate(self.anchors[: last_signed + 1]) if one.is_beginning]
        return max(proven, default=-1)

    @property
    def beginning(self) -> Anchor | None:
        """The newest beginning that is proven."""
        return self.anchors[self.begins_at] if self.begins_at >= 0 else None

    @property
    def pruned_through(self) -> int:
        """The number of the last event that an anchor holds whose events retention removed."""
        pruned = (anchor.last_event or 0 for anchor in self.anchors if is_pruned(anchor, self.now))
        return max(pruned, default=0)

    async def problems(self, audit: Audit) -> AsyncIterator[tuple[Anchor, str]]:
        """What is wrong with which anchor."""
        previous, next_event = GENESIS, None
        for place, anchor in enumerate(self.anchors):
            for what in (*self._chain_problems(anchor, previous, next_event), *self._key_problems(place)):
                yield anchor, what
            previous = anchor.hash
            next_event = next_event if anchor.last_event is None else anchor.last_event + 1
            if is_pruned(anchor, self.now):
                continue
            if anchor.pruned_at is not None:
                when = anchor.pruned_at.isoformat(timespec="seconds")
                yield anchor, f"it says that its events were removed at {when}, {NOT_RETENTION}"
            if await _digest(audit, anchor) != anchor.digest:
                yield anchor, "the events of that day are not those that were anchored"

    def _chain_problems(self, anchor: Anchor, previous: str, next_event: int | None) -> Iterator[str]:
        if anchor.previous_hash != previous or anchor.hash != seal_of(anchor):
            yield "it was changed, or the anchor before it was changed or removed"
        if anchor.first_event is not None and next_event not in (None, anchor.first_event):
            yield f"it begins with event {anchor.first_event}, where {next_event} is the next"

    def _key_problems(self, place: int) -> Iterator[str]:
        anchor, judged = self.anchors[place], self.judgements[place]
        if judged is Judgement.FALSE:
            yield "its signature does not fit: it was made without the key"
        elif judged is Judgement.UNKNOWN and self._must_be_signed(place):
            yield "it bears no signature of a key that is set, and no later anchor proves it"
        elif judged is Judgement.TRUE and place > self.begins_at:
            yield from _signed_too_easily(anchor)

    def _must_be_signed(self, place: int) -> bool:
        """Whether nothing after it proves it; those of earlier versions were never signed."""
        if self.signed:
            return place > self.signed[-1]
        return self.anchors[place].last_event is not None


def checked(anchors: Sequence[Anchor], seals: Seals, now: datetime) -> AnchorCheck:
    """Look at every signature, once."""
    judged = [seals.judge_anchor(one.hash, one.signature, one.signed_with) for one in anchors]
    signed = [place for place, judgement in enumerate(judged) if judgement is Judgement.TRUE]
    proven = max((anchors[place].last_event or 0 for place in signed), default=0)
    return AnchorCheck(anchors, judged, signed, proven, now)


def _signed_too_easily(anchor: Anchor) -> Iterator[str]:
    """What an anchor of ours signed that nobody should rely on, told by itself."""
    if anchor.unsealed:
        yield f"{anchor.unsealed} of its events bore no seal of ours when it was set"
    if anchor.events and anchor.anchored_at > span(anchor.day)[1] + LATE_AFTER:
        when = anchor.anchored_at.date()
        yield f"it was set on {when} only: what was removed or whose anchor was removed before is not in it"


def is_pruned(anchor: Anchor, now: datetime) -> bool:
    """Whether retention removed the day's events; a removal that it cannot have made excuses nothing."""
    if anchor.day == BEFORE_ALL_DAYS:
        return False
    due = span(anchor.day)[1] + LOG_YEARS_AT_LEAST * YEAR
    return anchor.pruned_at is not None and due <= anchor.pruned_at <= now


async def _digest(audit: Audit, anchor: Anchor) -> str:
    if anchor.last_event is None or anchor.first_event is None:
        return (await audit.digest(*span(anchor.day)))[1]
    return (await audit.digest_between(anchor.first_event, anchor.last_event)).digest
