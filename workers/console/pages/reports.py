"""Control reports: a list of the last ones, and each as it was sent; one that was not is made to be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from starlette.responses import Response

from domain.kpis.periods import period_of
from domain.mail.mail import Mail
from persistence.encryption.cipher import CipherError
from persistence.repositories.mails import open_mail
from workers.console.pages.visit import Visit, render, times_of
from workers.console.views.indicator_board import period_name
from workers.console.views.report_board import (
    DueReport,
    deliveries,
    due_reports,
    readable,
    report_lines,
)
from workers.mail.tables import TABLES, MailTable, read_tables
from workers.upkeep.reports import TERMS, AskedReport, ReportKind, make_report


@dataclass(frozen=True, slots=True)
class ReadReport:
    """A report as it is shown; `is_live`: it was made now, since none was sent that can be read."""

    number: str
    notes: str
    tables: Sequence[MailTable]
    is_live: bool


async def reports_page(visit: Visit) -> Response:
    """The last reports, newest first."""
    due = due_reports(visit.now, visit.console.zone)
    mails = await _mails(visit, due)
    return render(visit, "reports.html", lines=report_lines(due, mails, times_of(visit)))


async def one_report(visit: Visit) -> Response:
    """One report."""
    due = _asked(visit)
    if due is None:
        return render(visit, "error.html", 404, message="reports.unknown", status=404)
    mails, words = await _mails(visit, [due]), visit.words
    shown = _as_sent(visit, due, mails) or await _made(visit, due)
    return render(
        visit,
        "report.html",
        kind=due.kind,
        title=words(f"report.{due.kind}"),
        means=words(f"report_means.{due.kind}"),
        period=period_name(due.period, words),
        report=shown,
        tables=readable(shown.tables, words),
        deliveries=deliveries(due, mails, times_of(visit)),
    )


async def _mails(visit: Visit, due: Sequence[DueReport]) -> Mapping[str, Mail]:
    ids = [mail_id for one in due for _, mail_id in one.ids()]
    return await visit.console.store.look(lambda tx: tx.mails.find_all(ids))


def _asked(visit: Visit) -> DueReport | None:
    """A report of a period that is over."""
    kind, first = visit.request.path_params["kind"], visit.request.path_params["first"]
    try:
        asked, day = ReportKind(kind), date.fromisoformat(first)
    except ValueError:
        return None
    if not 2000 <= day.year <= 2999:
        return None
    period = period_of(TERMS[asked].frequency, day, visit.console.zone)
    return DueReport(asked, period) if period.end <= visit.now else None


def _as_sent(visit: Visit, due: DueReport, mails: Mapping[str, Mail]) -> ReadReport | None:
    found = next((mails[mail_id] for _, mail_id in due.ids() if mail_id in mails), None)
    if found is None:
        return None
    try:
        data = open_mail(visit.console.mail.cipher, found.outbox_id, found.sealed).data
    except CipherError:
        return None
    tables = read_tables(data.get(TABLES))
    return ReadReport(data.get("number", ""), data.get("notes", ""), tables, is_live=False)


async def _made(visit: Visit, due: DueReport) -> ReadReport:
    asked = AskedReport(due.kind, due.period, visit.now, visit.words.language)
    made = await make_report(visit.console.store, asked)
    notes = " ".join(made.notes) if made.tables else asked.words.nothing
    return ReadReport(str(made.number), notes, made.tables, is_live=True)
