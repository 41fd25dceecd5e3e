"""A payer's last days as a strip: how long it was in which state, told in words and drawn in heights."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from markupsafe import Markup

from domain.payer_status import PayerState, PayerStatus
from persistence.repositories.payer_traffic import PayerMove
from workers.console.views.times import Said, Times
from workers.console.words import Words

STRIP_DAYS = 7
SPAN = timedelta(days=STRIP_DAYS)
WIDTH, HEIGHT = 336, 24
HEIGHTS = {
    PayerState.CLOSED: 5,
    PayerState.HALF_OPEN: 10,
    PayerState.PAUSED: 15,
    PayerState.OPEN: 20,
    PayerState.STOPPED: 24,
}
"""States differ by height, so that they can be told apart without colours."""


@dataclass(frozen=True, slots=True)
class StripPart:
    """A run of time in one state; None where nobody knows."""

    state: PayerState | None
    start: datetime
    end: datetime

    @property
    def lasts(self) -> timedelta:
        """How long."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class StripLine:
    """One part for the table that goes with the picture."""

    state: str
    since: Said
    lasted: str


def parts(moves: Sequence[PayerMove], status: PayerStatus, now: datetime) -> Sequence[StripPart]:
    """The last days in runs, oldest first."""
    begin = now - SPAN
    mine = [move for move in moves if begin < move.at <= now]
    if not mine:
        known = min(max(begin, status.changed_at), now)
        runs = [StripPart(None, begin, known), StripPart(status.state, known, now)]
    else:
        ends = [*(move.at for move in mine[1:]), now]
        runs = [StripPart(mine[0].before, begin, mine[0].at)]
        runs += [StripPart(move.after, move.at, end) for move, end in zip(mine, ends, strict=True)]
    return [run for run in runs if run.lasts > timedelta()]


def strip(shown: Sequence[StripPart], words: Words) -> Markup:
    """The picture, with what it shows in words."""
    begin = shown[0].start
    drawn = Markup("").join(_rect(part, begin) for part in shown if part.state)
    head = Markup('<svg class="strip" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" {}>')
    label = Markup('aria-label="{}"').format(told(shown, words))
    days = Markup("").join(_day(number) for number in range(1, STRIP_DAYS))
    return head.format(WIDTH, HEIGHT, label) + days + drawn + Markup("</svg>")


def told(shown: Sequence[StripPart], words: Words) -> str:
    """How much of the time it was in which state."""
    lasted: Counter[PayerState | None] = Counter()
    for part in shown:
        lasted[part.state] += part.lasts // timedelta(seconds=1)
    percents = percents_of([time for _, time in lasted.most_common()])
    told_of = zip(lasted.most_common(), percents, strict=True)
    shares = [f"{_name(state, words)} {percent} %" for (state, _), percent in told_of]
    return words("strip.title", days=STRIP_DAYS, shares=", ".join(shares))


def lines(shown: Sequence[StripPart], times: Times) -> Sequence[StripLine]:
    """The parts as rows, newest first."""
    return [
        StripLine(_name(part.state, times.words), times.at(part.start), times.lasting(part.lasts))
        for part in reversed(shown)
    ]


def _name(state: PayerState | None, words: Words) -> str:
    return words(f"strip.{state}") if state else words("strip.unknown")


def percents_of(times: Sequence[int]) -> Sequence[int]:
    """Whole percents that make 100 together, the largest first; never nothing for what was there."""
    whole = max(sum(times), 1)
    percents = [max(100 * time // whole, 1) for time in times]
    by_rest = sorted(range(len(times)), key=lambda at: -(100 * times[at] % whole))
    for at in by_rest[: max(100 - sum(percents), 0)]:
        percents[at] += 1
    for _ in range(sum(percents) - 100):
        percents[max(range(len(percents)), key=lambda at: (percents[at], at))] -= 1
    return percents


def _rect(part: StripPart, begin: datetime) -> Markup:
    state = part.state or PayerState.CLOSED
    left, width = (WIDTH * (time / SPAN) for time in (part.start - begin, part.lasts))
    height = HEIGHTS[state]
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(
        f"is-{state.lower()}", round(left, 1), HEIGHT - height, max(round(width, 1), 0.8), height
    )


def _day(number: int) -> Markup:
    at = round(WIDTH * number / STRIP_DAYS, 1)
    return Markup('<line class="axis" x1="{0}" x2="{0}" y1="0" y2="{1}"/>').format(at, HEIGHT)
