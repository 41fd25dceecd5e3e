"""Control reports by mail: one mail per report, group and period, however often it is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import structlog

from domain.kpis.periods import Frequency, Period, latest_complete, run_up_to
from domain.mail.mail import Mail, MailContent, outbox_id
from persistence.store import Store
from workers.mail.queueing import MailRequest
from workers.mail.services import MailServices
from workers.mail.tables import TABLES, write_tables
from workers.upkeep.report_words import LANGUAGES
from workers.upkeep.reports import TERMS, AskedReport, Report, ReportKind, make_report, setting_of

CAUGHT_UP = {Frequency.DAILY: 7, Frequency.WEEKLY: 4}
"""How many periods back a report is made good that nobody sent, since no worker ran."""
AHEAD = timedelta(minutes=5)
"""What is dated further ahead than this was made by a wrong clock."""
AGAIN_AT_MOST = 10
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReportMail:
    """Sends what is due; who has no address is named in the log, and gets nothing."""

    store: Store
    mail: MailServices
    zone: tzinfo

    async def send_due(self, now: datetime) -> int:
        """Queue the reports of the last period that is over, and of those before that were missed."""
        sent = 0
        for kind, terms in TERMS.items():
            for group in terms.groups:
                if not self._has_address(group):
                    log.warning("report_not_sent", report=kind, group=group, not_set=setting_of(group))
                    continue
                for due in await self._due(kind, group, now):
                    asked = AskedReport(kind, due.period, now, self.mail.queue.language)
                    sent += await self._send(asked, group, again=len(due.at))
        await self._date_back(now)
        return sent

    def _has_address(self, group: str) -> bool:
        recipients = self.mail.sender.renderer.recipients
        return bool(recipients.of(group, self.mail.queue.company_id))

    async def _due(self, kind: ReportKind, group: str, now: datetime) -> Sequence["_Told"]:
        """The last period, and those before it up to the last that was reported; the first time, one.

        What was made by a wrong clock is made anew.
        """
        frequency = TERMS[kind].frequency
        periods = run_up_to(latest_complete(frequency, now, self.zone), CAUGHT_UP[frequency])
        told = [await self._told(kind, group, period) for period in periods]
        void = [one for one in told if one.at and not one.is_done(now)]
        for one in void:
            log.warning("report_from_wrong_clock", report=kind, group=group, period=one.period.name)
        done = [place for place, one in enumerate(told) if one.is_done(now)]
        late = told[done[-1] + 1 :] if done else told[-1:]
        return [one for one in told if one in void or one in late]

    async def _told(self, kind: ReportKind, group: str, period: Period) -> "_Told":
        ids = [report_id(kind, group, period, again=number) for number in range(AGAIN_AT_MOST)]
        made = await self.store.look(lambda tx: tx.mails.enqueued(ids))
        return _Told(period, tuple(made.values()))

    async def _date_back(self, now: datetime) -> None:
        """Reports of periods that are not over yet, by clocks ahead: dated now, they count for none later."""
        templates = [template_of(kind) for kind in ReportKind]
        await self.store.run(lambda tx: tx.mails.date_back(templates, latest=now + AHEAD, now=now))

    async def _send(self, asked: AskedReport, group: str, *, again: int) -> int:
        report = await make_report(self.store, asked)
        mail_id = report_id(asked.kind, group, asked.period, again=again)
        request = MailRequest(mail_id, _content(report, asked, group))
        mail: Mail = await self.store.run(lambda tx: self.mail.queue.add(tx, request, asked.now))
        await self.mail.queue.start([mail], asked.now)
        log.info("report_queued", report=asked.kind, group=group, period=asked.period.name)
        return 1


@dataclass(frozen=True, slots=True)
class _Told:
    """A period, and when mails were made that tell of it."""

    period: Period
    at: tuple[datetime, ...]

    def is_done(self, now: datetime) -> bool:
        """Whether one was made when the period was over; a wrong clock makes them before that, or later."""
        return any(self.period.end <= at <= now + AHEAD for at in self.at)


def report_id(kind: ReportKind, group: str, period: Period, *, again: int = 0) -> str:
    """The mail of a report to a group about a period; one that is made anew is another mail."""
    return outbox_id("report", kind, group, period.first, *([f"again-{again}"] if again else []))


def template_of(kind: ReportKind) -> str:
    """The text of a report's mail."""
    return f"report-{kind}"


def _content(report: Report, asked: AskedReport, group: str) -> MailContent:
    words = LANGUAGES[asked.language]
    notes = " ".join(report.notes) if report.tables else words.nothing
    data = {
        "period": words.period(report.period),
        "number": str(report.number),
        "group": words.teams[group],
        "notes": notes,
        TABLES: write_tables(report.tables),
    }
    return MailContent(group, template_of(report.kind), asked.language, data)
