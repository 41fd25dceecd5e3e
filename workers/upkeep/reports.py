"""Control reports (RN-BIL-004 7.2, RN-BIL-005 7.2): what each tells, of which period, to whom."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.catalog import Team
from domain.kpis.definitions import KPIS, Measure
from domain.kpis.periods import Frequency, Period
from domain.kpis.wording import NONE, target_told, told
from persistence.repositories.control_reports import FailureCount, GivenUpClaim
from persistence.store import Store, Transaction
from workers.mail.recipients import ReportGroup
from workers.mail.tables import MailTable
from workers.upkeep.report_words import LANGUAGES, ReportWords
from workers.upkeep.scorecard import AskedKpis, Score, scorecard

SHOWN = 200
"""So many claims are listed in a mail; the command lists more."""
COUNTED_AT_MOST = 1_000_000


class ReportKind(StrEnum):
    """The four reports of the rules."""

    PERMANENT = "permanent"
    EXHAUSTED = "exhausted"
    FAILURES = "failures"
    EFFECTIVENESS = "effectiveness"


@dataclass(frozen=True, slots=True)
class ReportTerms:
    """How often a report is made, and for whom."""

    frequency: Frequency
    groups: tuple[str, ...]


TERMS: Mapping[ReportKind, ReportTerms] = {
    ReportKind.PERMANENT: ReportTerms(Frequency.DAILY, (ReportGroup.DATA_ANALYSIS, ReportGroup.QUALITY)),
    ReportKind.EXHAUSTED: ReportTerms(Frequency.DAILY, (ReportGroup.BILLING,)),
    ReportKind.FAILURES: ReportTerms(Frequency.WEEKLY, (Team.BILLING_MANAGEMENT,)),
    ReportKind.EFFECTIVENESS: ReportTerms(Frequency.WEEKLY, (ReportGroup.IT_MANAGEMENT,)),
}


@dataclass(frozen=True, slots=True)
class Report:
    """A report: how many claims or failures it is about, and its tables; none of them names a patient.

    A claim may be given up more than once in a period: `number` are claims, `decisions` what was decided.
    """

    kind: ReportKind
    period: Period
    number: int
    tables: tuple[MailTable, ...]
    notes: tuple[str, ...] = ()
    decisions: int | None = None


@dataclass(frozen=True, slots=True)
class AskedReport:
    """Which report, of which period, in which language; at most so many claims are listed."""

    kind: ReportKind
    period: Period
    now: datetime
    language: str = "pt"
    limit: int = SHOWN

    @property
    def words(self) -> ReportWords:
        """The words of its language."""
        return LANGUAGES[self.language]


async def make_report(store: Store, asked: AskedReport) -> Report:
    """Read what it tells, at one moment."""
    if asked.kind is ReportKind.EFFECTIVENESS:
        return await _effectiveness(store, asked)
    async with store.reading() as tx:
        if asked.kind is ReportKind.FAILURES:
            return await _failures(tx, asked)
        return await _given_up(tx, asked)


async def _given_up(tx: Transaction, asked: AskedReport) -> Report:
    reports, limit = tx.control_reports, COUNTED_AT_MOST
    read = reports.permanent if asked.kind is ReportKind.PERMANENT else reports.exhausted
    found = await read(asked.period, limit)
    shown = found[: asked.limit]
    teams = await tx.reviews.teams([one.claim_id for one in shown]) if shown else {}
    tables = (_kinds(found, asked.words), _claims(shown, teams, asked)) if found else ()
    notes = (f"{asked.words.titles['decisions']}: {len(found)}.", *_left_out(len(found), asked))
    claims = len({one.claim_id for one in found})
    return Report(asked.kind, asked.period, claims, tables, notes, len(found))


def _kinds(found: Sequence[GivenUpClaim], words: ReportWords) -> MailTable:
    kinds = Counter((one.category, words.causes.get(one.cause or "", NONE), one.claim_id) for one in found)
    claims, decisions = Counter(key[:2] for key in kinds), Counter[tuple[str, str]]()
    for (kind, cause, _), number in kinds.items():
        decisions[kind, cause] += number
    rows = tuple((*key, str(number), str(decisions[key])) for key, number in claims.most_common())
    titles = words.titles
    head = titles["error"], words.given_up[4], titles["number"], titles["decisions"]
    return MailTable(titles["category"], head, rows)


def _claims(shown: Sequence[GivenUpClaim], teams: Mapping[str, str], asked: AskedReport) -> MailTable:
    words, zone = asked.words, asked.period.zone

    def cells(one: GivenUpClaim) -> tuple[str, ...]:
        when = format(one.decided_at.astimezone(zone), f"{words.day} %H:%M")
        team = words.teams.get(teams.get(one.claim_id, ""), NONE)
        cause = words.causes.get(one.cause or "", NONE)
        head = one.claim_id, one.payer_id or NONE, when, one.category
        return *head, cause, str(one.retry_count), team, words.states.get(one.state or "", one.state or NONE)

    rows = tuple(map(cells, shown))
    return MailTable(words.titles["claims"], words.given_up, rows, has_claims=True)


def _left_out(number: int, asked: AskedReport) -> Iterator[str]:
    if number > asked.limit:
        option = f"--day {asked.period.first}" if asked.period.days == 1 else f"--week {asked.period.first}"
        yield asked.words.more.format(number=number - asked.limit, kind=asked.kind, option=option)


async def _failures(tx: Transaction, asked: AskedReport) -> Report:
    kinds = await tx.control_reports.by_category(asked.period)
    payers = await tx.control_reports.by_payer(asked.period)
    titles = asked.words.titles
    tables = (
        _failure_table(titles["category"], kinds, asked.words),
        _failure_table(titles["payer"], payers, asked.words),
    )
    number = sum(one.decisions for one in kinds)
    return Report(asked.kind, asked.period, number, tables if number else ())


def _failure_table(title: str, found: Sequence[FailureCount], words: ReportWords) -> MailTable:
    rows = tuple(
        (one.name, *map(str, (one.decisions, one.claims, one.retries, one.permanent, one.exhausted)))
        for one in found
    )
    return MailTable(title, words.failures, rows)


async def _effectiveness(store: Store, asked: AskedReport) -> Report:
    period = asked.period
    card = await scorecard(store, AskedKpis(period.zone, asked.now, (period.first, period.last)))
    number = sum(tally.decided for _, tally in card.tallies)
    if not number:
        return Report(asked.kind, period, 0, ())
    async with store.reading() as tx:
        needed = await tx.control_reports.retries_needed(period)
        payers = await tx.kpis.by_payer(period)
    titles = asked.words.titles
    scores = tuple(_score_row(score, asked.words) for score in card.scores)
    people = sum(tally.by_people for _, tally in card.tallies)
    untimed = sum(tally.untimed for _, tally in card.tallies)
    retries = tuple((str(retry), str(claims)) for retry, claims in needed)
    rates = tuple(
        (payer, *_rate(KPIS[0].measure(counted), asked.words)) for payer, counted in sorted(payers.items())
    )
    tables = (
        MailTable(titles["kpis"], asked.words.scores, tuple(row for rows in scores for row in rows)),
        MailTable(titles["retries"], (titles["retry"], titles["recovered"]), retries),
        MailTable(titles["payer"], (titles["payer"], titles["success"], titles["of"], titles["open"]), rates),
    )
    notes = f"{titles['people']}: {people}.", *([f"{titles['untimed']}: {untimed}."] if untimed else [])
    return Report(asked.kind, period, number, tables, notes)


def _score_row(score: Score, words: ReportWords) -> Iterator[tuple[str, ...]]:
    unit, point = score.kpi.unit, words.point
    title = score.kpi.title if words.kpis is None else words.kpis[score.kpi.name]
    for target in score.kpi.targets:
        met = words.met[target.is_met(score.measure)]
        shown = told(score.measure.value, unit, point), target_told(target, unit, point), met
        yield title, target.rule, *shown, told(score.before.value, unit, point), str(score.measure.running)


def _rate(measure: Measure, words: ReportWords) -> tuple[str, str, str]:
    share = told(measure.value, KPIS[0].unit, words.point)
    return share, f"{measure.numerator} / {measure.denominator}", str(measure.running)


def setting_of(group: str) -> str:
    """The environment variable that names a group's addresses."""
    return f"MAIL_TO_{group}"
