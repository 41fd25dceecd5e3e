"""Control reports as they were sent: which, of which period, to whom; and one of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from domain.kpis.periods import Frequency, Period, latest_complete, run_up_to
from domain.mail.mail import Mail, MailState
from workers.console.views.indicator_board import period_name
from workers.console.views.shapes import StateShape, StateView, Tone
from workers.console.views.times import Said, Times
from workers.console.words import Words
from workers.mail.tables import MailTable
from workers.upkeep.report_mail import report_id
from workers.upkeep.reports import TERMS, ReportKind

SHOWN: Mapping[Frequency, int] = {Frequency.DAILY: 14, Frequency.WEEKLY: 8}
AGAIN = 3
"""So many mails of a report are looked for: one that a wrong clock made is made anew."""


@dataclass(frozen=True, slots=True)
class DueReport:
    """A report that there is, or should be."""

    kind: ReportKind
    period: Period

    @property
    def page(self) -> str:
        """Where it is read."""
        return f"/reports/{self.kind}/{self.period.first}"

    def ids(self) -> Iterator[tuple[str, str]]:
        """Each group that gets it, with the ids of the mails that may have brought it."""
        for group in TERMS[self.kind].groups:
            for again in reversed(range(AGAIN)):
                yield group, report_id(self.kind, group, self.period, again=again)


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a report went to one group."""

    group: str
    state: StateView
    at: Said | None


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A report in the list."""

    title: str
    period: str
    page: str
    deliveries: Sequence[Delivery]


def due_reports(now: datetime, zone: tzinfo) -> Sequence[DueReport]:
    """The reports of the last periods that are over, newest first."""
    found = [
        DueReport(kind, period)
        for kind, terms in TERMS.items()
        for period in run_up_to(latest_complete(terms.frequency, now, zone), SHOWN[terms.frequency])
    ]
    return sorted(found, key=lambda one: (one.period.last, one.kind), reverse=True)


def report_lines(due: Sequence[DueReport], mails: Mapping[str, Mail], times: Times) -> Sequence[ReportLine]:
    """One line per report."""
    words = times.words
    return [
        ReportLine(
            words(f"report.{one.kind}"),
            period_name(one.period, words),
            one.page,
            deliveries(one, mails, times),
        )
        for one in due
    ]


def deliveries(due: DueReport, mails: Mapping[str, Mail], times: Times) -> Sequence[Delivery]:
    """To whom it went, and how that ended."""
    newest: dict[str, Mail | None] = {}
    for group, mail_id in due.ids():
        newest[group] = newest.get(group) or mails.get(mail_id)
    return [_delivery(group, mail, times) for group, mail in newest.items()]


def _delivery(group: str, mail: Mail | None, times: Times) -> Delivery:
    words = times.words
    name = words(f"group.{group}")
    if mail is None:
        return Delivery(name, StateView(Tone.CALM, StateShape.DASH, words("reports.not_sent")), None)
    if mail.state is MailState.SENT:
        at = times.at(mail.sent_at or mail.enqueued_at)
        return Delivery(name, StateView(Tone.DONE, StateShape.CHECK, words("reports.sent")), at)
    if mail.state is MailState.FAILED:
        view = StateView(Tone.STOPPED, StateShape.WARNING, words("reports.failed"))
        return Delivery(name, view, times.at(mail.last_failure_at or mail.enqueued_at))
    view = StateView(Tone.WAITING, StateShape.CLOCK, words("reports.waiting"))
    return Delivery(name, view, times.at(mail.enqueued_at))


def readable(tables: Sequence[MailTable], words: Words) -> Sequence[MailTable]:
    """The same tables, with kinds of errors and states in words."""
    return [
        MailTable(
            table.title,
            table.head,
            tuple(tuple(_cell(cell, words) for cell in row) for row in table.rows),
            table.has_claims,
        )
        for table in tables
    ]


def _cell(cell: str, words: Words) -> str:
    names = (f"category.{cell}", f"state.{cell}") if cell.isupper() else ()
    return next((words(name) for name in names if words.knows(name)), cell)
