"""Control reports by mail: one mail per report, group and period, however often it is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

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
                for period in await self._due(kind, group, now):
                    sent += await self._send(AskedReport(kind, period, now, self.mail.queue.language), group)
        return sent

    def _has_address(self, group: str) -> bool:
        recipients = self.mail.sender.renderer.recipients
        return bool(recipients.of(group, self.mail.queue.company_id))

    async def _due(self, kind: ReportKind, group: str, now: datetime) -> Sequence[Period]:
        """The last period, and those before it up to the last that was reported; the first time, one."""
        frequency = TERMS[kind].frequency
        last = latest_complete(frequency, now, self.zone)
        periods = run_up_to(last, CAUGHT_UP[frequency])
        ids = [report_id(kind, group, period) for period in periods]
        known = await self.store.look(lambda tx: tx.mails.states(ids))
        done = [place for place, one in enumerate(ids) if one in known]
        return periods[done[-1] + 1 :] if done else [last]

    async def _send(self, asked: AskedReport, group: str) -> int:
        report = await make_report(self.store, asked)
        request = MailRequest(report_id(asked.kind, group, asked.period), _content(report, asked, group))
        mail: Mail = await self.store.run(lambda tx: self.mail.queue.add(tx, request, asked.now))
        await self.mail.queue.start([mail], asked.now)
        log.info("report_queued", report=asked.kind, group=group, period=asked.period.name)
        return 1


def report_id(kind: ReportKind, group: str, period: Period) -> str:
    """The mail of a report to a group about a period."""
    return outbox_id("report", kind, group, period.first)


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
    return MailContent(group, f"report-{report.kind}", asked.language, data)
