"""`reenvio report`: the control reports of the rules, as their mails tell them."""

import json
from datetime import date, datetime, tzinfo
from typing import Annotated

import typer

from domain.kpis.periods import Period, day_of, latest_complete, week_of
from persistence.store import Store
from workers.app.cluster import clock_here
from workers.app.recipients import recipients
from workers.cli.database import with_store
from workers.cli.days import read_day
from workers.cli.output import tell
from workers.cli.tables import print_table
from workers.config.settings import Settings, read_settings
from workers.policy import PolicySource
from workers.upkeep.reports import TERMS, AskedReport, Report, ReportKind, make_report, setting_of

EXAMPLES = """
Examples:

  reenvio report                                 all four, of the last day and the last week that are over

  reenvio report permanent --day 2026-03-09      permanent errors of one day

  reenvio report failures --week 2026-03-09      failures of the week of that day

  reenvio report effectiveness --json            for another program
"""
DayOption = Annotated[
    date | None, typer.Option("--day", parser=read_day, metavar="DAY", help="Of this day: 2026-03-09.")
]
WeekOption = Annotated[
    date | None,
    typer.Option("--week", parser=read_day, metavar="DAY", help="Of the week of this day, from Monday."),
]


def report(
    kind: Annotated[ReportKind | None, typer.Argument(help="Which one; all of them if left out.")] = None,
    day: DayOption = None,
    week: WeekOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON lines, one per report.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="List at most so many claims.")] = 200,
) -> None:
    """Control reports of RN-BIL-004 7.2 and RN-BIL-005 7.2, as the daily process sends them by mail."""
    if day and week:
        raise typer.BadParameter("give --day or --week, not both")
    settings = read_settings()
    zone = PolicySource(settings.policy_file).current().zone

    async def go(store: Store) -> None:
        now = await clock_here(settings, store).now()
        for one in [kind] if kind else list(ReportKind):
            period = _period(one, (day, week), now, zone)
            asked = AskedReport(one, period, now, settings.mail.language, limit)
            made = await make_report(store, asked)
            if as_json:
                tell(json.dumps(_as_json(made), ensure_ascii=False))
            else:
                _tell(made, asked, settings)

    with_store(go, settings)


report.__doc__ = f"{report.__doc__}\n{EXAMPLES}"


def _period(kind: ReportKind, given: tuple[date | None, date | None], now: datetime, zone: tzinfo) -> Period:
    day, week = given
    period = day_of(day, zone) if day else week_of(week, zone) if week else None
    if period is None:
        return latest_complete(TERMS[kind].frequency, now, zone)
    if period.start > now:
        raise typer.BadParameter(f"{period.name} lies in the future: today is {now.astimezone(zone).date()}")
    return period


def _tell(made: Report, asked: AskedReport, settings: Settings) -> None:
    tell(f"== {made.kind}: {asked.words.period(made.period)} ({made.number})")
    if not made.tables:
        tell(asked.words.nothing)
    for table in made.tables:
        tell(table.title)
        print_table(table.head, table.rows)
    for note in made.notes:
        tell(note)
    for unset in _without_address(made.kind, settings):
        tell(f"{setting_of(unset)} is not set: {asked.words.teams[unset]} gets no mail of it.", err=True)


def _without_address(kind: ReportKind, settings: Settings) -> list[str]:
    named = recipients(settings.mail)
    return [group for group in TERMS[kind].groups if not named.of(group, settings.mail.company_id)]


def _as_json(made: Report) -> dict[str, object]:
    return {
        "report": made.kind.value,
        "first": str(made.period.first),
        "last": str(made.period.last),
        "number": made.number,
        "decisions": made.decisions,
        "notes": list(made.notes),
        "tables": [
            {"title": table.title, "columns": list(table.head), "rows": [list(row) for row in table.rows]}
            for table in made.tables
        ],
    }
