"""Payers on a board: how each is, what goes to it and what came of that, and what it may be asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote

from markupsafe import Markup

from domain.breaker import BY_HAND
from domain.payer_status import PayerLimits, PayerState
from gateways.tiss.certificates import CertificateEnd
from gateways.tiss.hours import PostingHours
from persistence.repositories.figures import PayerFigures
from persistence.repositories.operator_orders import KeptOrder
from persistence.repositories.payer_traffic import AnswerCount, CategoryCount, PayerMove
from workers.console.views.reasons import category_name
from workers.console.views.shapes import StateShape, StateView, Tone
from workers.console.views.strips import StripLine, lines, parts, strip, told
from workers.console.views.times import Said, Times
from workers.console.views.today import PayerRow, payer_rows
from workers.console.words import Words
from workers.payers.limits import LimitsByPayer
from workers.payers.status import HOLDING

WARNED = timedelta(days=30)
SOON = timedelta(days=7)
TAKEN = "ACCEPTED"


@dataclass(frozen=True, slots=True)
class BoardLine:
    """One payer in the list."""

    row: PayerRow
    title: str
    page: str
    strip: Markup
    sends: int
    taken: str
    pace: str
    certificate: StateView | None


@dataclass(frozen=True, slots=True)
class NamedCount:
    """How many of one kind."""

    name: str
    number: int


@dataclass(frozen=True, slots=True)
class PayerSheet:
    """All that the page of one payer shows."""

    line: BoardLine
    told: str
    history: Sequence[StripLine]
    answers: Sequence[NamedCount]
    failures: Sequence[NamedCount]
    under_way: str
    slots: str
    hours: str
    windows: Sequence[str]
    certificates: Sequence[StateView]
    probe: str
    why: str
    orders: Sequence["OrderLine"]


@dataclass(frozen=True, slots=True)
class OrderLine:
    """An order of a person about a payer."""

    what: str
    by: str
    reason: str
    at: Said | None
    is_refused: bool


@dataclass(frozen=True, slots=True)
class SeenPayers:
    """What was read of payers, at one moment."""

    figures: Sequence[PayerFigures]
    moves: Sequence[PayerMove]
    answers: Sequence[AnswerCount]
    certificates: Mapping[str, Sequence[CertificateEnd]]


@dataclass(frozen=True, slots=True)
class SeenBeside:
    """What was read of one payer beside."""

    failures: Sequence[CategoryCount]
    orders: Sequence[KeptOrder]
    with_slot: int


def payer_page(payer_id: str) -> str:
    """Where a payer is looked at."""
    return f"/payers/{quote(payer_id, safe='')}"


def board(seen: SeenPayers, limits: LimitsByPayer, times: Times) -> Sequence[BoardLine]:
    """All payers, those that hold claims first."""
    rows = payer_rows(seen.figures, limits, times)
    return [_line(row, seen, limits, times) for row in rows]


def _line(row: PayerRow, seen: SeenPayers, limits: LimitsByPayer, times: Times) -> BoardLine:
    [figures] = [one for one in seen.figures if one.status.payer_id == row.name]
    shown = parts([move for move in seen.moves if move.payer_id == row.name], figures.status, times.now)
    mine = [one for one in seen.answers if one.payer_id == row.name]
    sends, taken = sum(one.number for one in mine), sum(one.number for one in mine if one.outcome == TAKEN)
    ends = [certificate_view(one, times) for one in seen.certificates.get(row.name, ())]
    settings = limits.settings.get(row.name)
    return BoardLine(
        row=row,
        title=settings.name if settings and settings.name else row.name,
        page=payer_page(row.name),
        strip=strip(shown, times.words),
        sends=sends,
        taken=f"{100 * taken // sends} %" if sends else "",
        pace=_pace(sum(one.last_minute for one in mine), limits.of(row.name), times.words),
        certificate=min(ends, key=_urgency) if ends else None,
    )


def _urgency(view: StateView) -> int:
    return [Tone.STOPPED, Tone.WAITING, Tone.DONE].index(view.tone)


def _pace(used: int, limits: PayerLimits, words: Words) -> str:
    if limits.per_minute is None:
        return words("payers.pace_free", n=words.number(used))
    return words("payers.pace_of", n=words.number(used), limit=words.number(limits.per_minute))


def certificate_view(one: CertificateEnd, times: Times) -> StateView:
    """How long a certificate is good, with its urgency."""
    words = times.words
    use = words(f"certificate.{one.use}")
    if one.ends_at is None:
        return StateView(Tone.STOPPED, StateShape.WARNING, words("certificate.unread", use=use))
    left = one.ends_at - times.now
    if left <= timedelta():
        return StateView(Tone.STOPPED, StateShape.WARNING, words("certificate.over", use=use))
    text = words.counted("certificate.days", left.days, use=use)
    if left < WARNED:
        shape = StateShape.WARNING if left < SOON else StateShape.CLOCK
        return StateView(Tone.STOPPED if left < SOON else Tone.WAITING, shape, text)
    return StateView(Tone.DONE, StateShape.CHECK, text)


def sheet(
    payer: PayerFigures, seen: SeenPayers, beside: SeenBeside, known: tuple[LimitsByPayer, Times]
) -> PayerSheet:
    """One payer's page."""
    limits, times = known
    [line] = board(seen, limits, times)
    status, words, mine = payer.status, times.words, limits.of(payer.status.payer_id)
    shown = parts(seen.moves, status, times.now)
    return PayerSheet(
        line=line,
        told=told(shown, words),
        history=lines(shown, times),
        answers=_answers(seen.answers, words),
        failures=[NamedCount(category_name(one.category, words), one.number) for one in beside.failures],
        under_way=_under_way(payer, mine, words),
        slots=_slots(payer, beside.with_slot, times),
        hours=_hours(mine, words),
        windows=_windows(mine, times),
        certificates=[certificate_view(one, times) for one in seen.certificates.get(status.payer_id, ())],
        probe=_probe(payer, times),
        why=_why(payer, beside.orders),
        orders=[_order(order, times) for order in beside.orders],
    )


def _answers(counted: Iterable[AnswerCount], words: Words) -> Sequence[NamedCount]:
    ordered = sorted(counted, key=lambda one: -one.number)
    return [NamedCount(_answer(one.outcome, words), one.number) for one in ordered]


def _answer(outcome: str | None, words: Words) -> str:
    name = f"sent.{outcome}"
    return words(name) if outcome and words.knows(name) else words("sent.open")


def _under_way(payer: PayerFigures, limits: PayerLimits, words: Words) -> str:
    if limits.per_minute is None:
        return words.number(payer.under_way)
    return words("payers.of", n=words.number(payer.under_way), limit=words.number(limits.at_once))


def _slots(payer: PayerFigures, given: int, times: Times) -> str:
    """Turns given to claims that wait, and up to when."""
    until = payer.status.slots_until
    if not given or until is None or until <= times.now:
        return times.words("payers.no_slots") if not given else times.words.counted("payers.slots", given)
    said = times.words.counted("payers.slots", given)
    return times.words("payers.slots_until", slots=said, at=times.at(until).text)


def _hours(limits: PayerLimits, words: Words) -> str:
    if not isinstance(limits.hours, PostingHours):
        return words("payers.always_open")
    hours = limits.hours
    return words("payers.hours_of", opens=f"{hours.opens:%H:%M}", closes=f"{hours.closes:%H:%M}")


def _windows(limits: PayerLimits, times: Times) -> Sequence[str]:
    return [
        times.words("payers.window", start=times.at(one.start).text, end=times.at(one.end).text)
        for one in sorted(limits.windows, key=lambda one: one.start)
        if one.end > times.now
    ]


def _probe(payer: PayerFigures, times: Times) -> str:
    status, words = payer.status, times.words
    if status.probed_at is None:
        return words("payers.not_probed")
    answer = words("payers.answers_yes" if status.probe_up else "payers.answers_no")
    return f"{answer} ({times.at(status.probed_at).text})"


def _why(payer: PayerFigures, orders: Sequence[KeptOrder]) -> str:
    """The words of whoever holds it; an outage has none of its own here."""
    status = payer.status
    if status.state is PayerState.CLOSED or status.reason not in BY_HAND:
        return ""
    holding = (order for order in orders if order.action in HOLDING and order.refused_at is None)
    found = next(holding, None)
    return f"{found.ordered_by}: “{found.reason}”" if found else ""


def _order(order: KeptOrder, times: Times) -> OrderLine:
    known = f"payer_order.{order.action}"
    words = times.words
    what = words(known) if words.knows(known) else words("order_of.other")
    at = times.at(order.at) if order.at else None
    return OrderLine(what, order.ordered_by, order.reason, at, order.refused_at is not None)


def offered(payer: PayerFigures) -> frozenset[str]:
    """Which orders fit the payer's state."""
    match payer.status.state:
        case PayerState.CLOSED:
            return frozenset({"pause", "trip", "probe"})
        case PayerState.STOPPED:
            return frozenset({"resume", "probe"})
        case PayerState.PAUSED:
            return frozenset({"resume", "probe"})
        case _:
            return frozenset({"pause", "resume", "probe"})


def since_day(now: datetime) -> datetime:
    """From when sends are counted."""
    return now - timedelta(days=1)
