"""The KPIs counted once more, by plain loops over stories: nothing here comes from the product."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from statistics import median
from zoneinfo import ZoneInfo

from tests.support.kpi_history import Story

OPEN = {"RECEIVED", "SUBMITTING", "WAITING", "FAILED"}
Key = tuple[str, date, str | None]
"""Day or week, its first day, and a payer or all."""


@dataclass(slots=True)
class Heap:
    """What lies together for one key."""

    ends: list[str | None] = field(default_factory=list)
    retried_ends: list[str | None] = field(default_factory=list)
    tries: list[int] = field(default_factory=list)
    minutes: list[Fraction] = field(default_factory=list)
    whole: list[Fraction] = field(default_factory=list)
    open: int = 0
    open_retried: int = 0


def heaps(told: Iterable[Story], zone: str) -> dict[Key, Heap]:
    """All stories on their heaps."""
    found: dict[Key, Heap] = defaultdict(Heap)
    for story in told:
        day = story.decided[0].at.astimezone(ZoneInfo(zone)).date()
        week = day - timedelta(days=day.isoweekday() - 1)
        for key in (("day", day), ("week", week)):
            for payer in (None, story.payer) if story.payer else (None,):
                _put(found[(*key, payer)], story)
    return found


def values(heap: Heap) -> dict[str, Fraction | None]:
    """The seven numbers of a heap, by the design's table."""
    closed = len(heap.retried_ends)
    every = len(heap.ends)
    return {
        "success_after_retry": _share(len(heap.tries), closed),
        "mean_attempts": _share(sum(heap.tries), len(heap.tries)),
        "lost_claims": _share(heap.retried_ends.count("RETRIES"), closed),
        "time_to_success": median(sorted(heap.minutes)) if heap.minutes else None,
        "mean_time_to_success": sum(heap.whole, Fraction()) / len(heap.whole) if heap.whole else None,
        "permanent_errors": _share(heap.ends.count("PERMANENT"), every),
        "exhausted": _share(heap.ends.count("RETRIES"), every),
    }


def _share(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None


def _put(heap: Heap, story: Story) -> None:
    first = story.decided[0]
    end = next((one for one in story.decided if one.end), None)
    taken = _taken_in_first_round(story, end.at if end else None)
    is_open = story.payer is not None and taken is None and end is None and story.state in OPEN
    retried = story.payer is not None and first.end is None
    if is_open:
        heap.open += 1
        heap.open_retried += retried
        return
    heap.ends.append(end.end if end else None)
    if retried:
        heap.retried_ends.append("TAKEN" if taken is not None else end.end if end else None)
    if taken is not None:
        sent = story.sent[taken]
        assert sent.finished is not None
        heap.tries.append(sum(1 for one in story.sent[: taken + 1] if one.started > first.at))
        heap.minutes.append(_seconds(sent.finished - first.at))
        heap.whole.append(_seconds(sent.finished - story.sent[0].started))


def _taken_in_first_round(story: Story, ended: object) -> int | None:
    """Which send was the first to be taken for good, if it left before anybody gave the claim up."""
    for place, sent in enumerate(story.sent):
        if sent.outcome == "ACCEPTED" and not sent.undone:
            in_time = ended is None or sent.started < ended  # type: ignore[operator]
            return place if in_time and sent.started > story.decided[0].at else None
    return None


def _seconds(span: timedelta) -> Fraction:
    return Fraction(span.days * 86_400 + span.seconds) + Fraction(span.microseconds, 1_000_000)
