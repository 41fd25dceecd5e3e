"""`reenvio kpi`: the rules' indicators beside their targets, and the claims behind a number."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Annotated

import typer

from domain.kpis.definitions import KPIS, Kpi, KpiName, Target, Unit
from domain.kpis.periods import Period
from domain.kpis.tally import KpiTally
from domain.kpis.wording import NONE, Trend, bars, target_told, told
from domain.operators import operator_text
from persistence.repositories.claims import Wanted
from persistence.repositories.kpis import ClaimBehind
from persistence.store import Store
from workers.app.cluster import clock_here
from workers.cli.database import with_store
from workers.cli.days import read_day
from workers.cli.output import counted, tell
from workers.cli.tables import print_table
from workers.config.settings import read_settings
from workers.policy import PolicySource
from workers.upkeep.scorecard import AskedKpis, Score, Scorecard, scorecard
from workers.upkeep.scorecard_json import scorecard_json

COLUMNS = ("kpi", "rule", "value", "target", "met", "trend", "of", "open", "lately", "period")
BEHIND = ("claim", "payer", "first failure", "counts", "ended", "retries", "after", "state")
ARROWS = {Trend.UP: "↑", Trend.DOWN: "↓", Trend.SAME: "=", Trend.NEW: "new", None: NONE}
MICROSECONDS = 1_000_000
EXAMPLES = """
Examples:

  reenvio kpi                                        the last day and the last week that are over

  reenvio kpi --from 2026-03-01 --to 2026-03-31      a month, each day or week of it as a bar

  reenvio kpi --payer SAUDE --json                   one payer's, for another program

  reenvio kpi --claims lost_claims                   which claims are behind a number; with --json, too
"""
FromOption = Annotated[
    date | None, typer.Option("--from", parser=read_day, metavar="DAY", help="The first day: 2026-03-01.")
]
ToOption = Annotated[
    date | None, typer.Option("--to", parser=read_day, metavar="DAY", help="The last day, included.")
]


def kpi(
    first: FromOption = None,
    last: ToOption = None,
    payer: Annotated[str | None, typer.Option("--payer", help="Only this payer's claims.")] = None,
    claims: Annotated[
        KpiName | None, typer.Option("--claims", help="List the claims behind this KPI instead.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON, exact values as fractions; with --claims: those claims.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="With --claims: at most so many.")] = 50,
) -> None:
    """KPIs of RN-BIL-004 and RN-BIL-005 against their targets, counted from the database."""
    settings = read_settings()
    zone = PolicySource(settings.policy_file).current().zone

    async def go(store: Store) -> None:
        now = await clock_here(settings, store).now()
        asked = AskedKpis(zone, now, _days(first, last, now.astimezone(zone).date()), payer)
        await _require_known(store, payer)
        if claims:
            _tell_claims(await _listed(store, asked, claims, limit), asked, as_json=as_json)
        else:
            _tell(await scorecard(store, asked), asked, as_json=as_json)

    with_store(go, settings)


kpi.__doc__ = f"{kpi.__doc__}\n{EXAMPLES}"


async def _require_known(store: Store, payer: str | None) -> None:
    """A payer's id that nobody has must not pass for a payer without failures."""
    if payer and not await store.look(lambda tx: tx.claims.newest(Wanted(payer_id=payer), 1)):
        why = (
            f"no claim of {operator_text(payer, 64)} is known here: compare the id with `reenvio payer list`"
        )
        raise typer.BadParameter(why, param_hint="--payer")


def _days(first: date | None, last: date | None, today: date) -> tuple[date, date] | None:
    if first is None and last is None:
        return None
    begin, end = first or last or today, last or today
    if begin > today:
        option = "--from" if first else "--to"
        raise typer.BadParameter(f"{option} {begin} lies in the future: today is {today}")
    if begin > end:
        raise typer.BadParameter(f"--from {begin} is after --to {end}")
    return begin, end


def _tell(card: Scorecard, asked: AskedKpis, *, as_json: bool) -> None:
    if as_json:
        _tell_json(scorecard_json(card, asked))
        return
    whose = f" at payer {operator_text(asked.payer_id, 64)}" if asked.payer_id else ""
    if card.is_empty:
        names = " and ".join(period.name for period, _ in card.tallies)
        tell(f"No claim failed{whose} in {names}: there is nothing to measure.")
        return
    print_table(COLUMNS, [_cells(score, target) for score in card.scores for target in score.kpi.targets])
    for period, tally in card.tallies:
        tell(f"{period.name}{whose}: {_beside(tally)}.")


def _cells(score: Score, target: Target) -> tuple[str, ...]:
    unit, measure = score.kpi.unit, score.measure
    shown = told(measure.value, unit), target_told(target, unit), _met(target.is_met(measure))
    before = told(score.before.value, unit)
    moved = f"{ARROWS[score.trend]} {before}" if score.before.value is not None else ARROWS[score.trend]
    head = score.kpi.name.value, target.rule, *shown, moved
    return *head, _of(score.kpi, score), str(measure.running), bars(score.line), score.period.name


def _of(kpi: Kpi, score: Score) -> str:
    measure = score.measure
    shares = f"{measure.numerator}/{measure.denominator}"
    return shares if kpi.unit is Unit.SHARE else counted(measure.claims, "claim")


def _met(is_met: bool | None) -> str:
    return NONE if is_met is None else "yes" if is_met else "NO"


def _beside(tally: KpiTally) -> str:
    parts = [
        f"{counted(tally.decided, 'claim')} failed",
        f"{tally.running} still open",
        f"{tally.in_review} in review",
        f"{tally.by_deadline} ended by a deadline (not among spent retries)",
        f"{tally.by_people} recovered by people afterwards",
    ]
    if tally.untimed:
        parts.append(f"{tally.untimed} recovered in times that are not known: a clock was set back")
    if tally.elsewhere:
        parts.append(f"{tally.elsewhere} sent by other processes, whose end is not known here")
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Listed:
    """The claims behind a KPI in a period, as many as were asked for, and whether there are more."""

    kpi: Kpi
    period: Period
    claims: Sequence[ClaimBehind]
    has_more: bool


async def _listed(store: Store, asked: AskedKpis, name: KpiName, limit: int) -> Listed:
    [wanted] = [one for one in KPIS if one.name is name]
    period = asked.period(wanted.frequency)
    found = await store.look(lambda tx: tx.kpis.behind(name, period, asked.payer_id, limit + 1))
    return Listed(wanted, period, found[:limit], len(found) > limit)


def _tell_claims(listed: Listed, asked: AskedKpis, *, as_json: bool) -> None:
    if as_json:
        _tell_json(_listed_json(listed, asked))
        return
    if not listed.claims:
        tell(f"No claims are behind {listed.kpi.name} in {listed.period.name}.")
        return
    tell(f"{listed.kpi.title}, {listed.period.name}: {listed.kpi.formula}")
    print_table(BEHIND, [_claim(one, asked) for one in listed.claims])
    if listed.has_more:
        tell(f"The first {len(listed.claims)}; there are more: see --limit, --payer, --from, --to.")


def _claim(one: ClaimBehind, asked: AskedKpis) -> tuple[str, ...]:
    failed = one.first_failed_at.astimezone(asked.zone).isoformat(timespec="seconds")
    ended = "ACCEPTED" if one.accepted_at else one.given_up or NONE
    retries = NONE if one.retries_sent is None else str(one.retries_sent)
    after = NONE if not one.is_timed else _seconds(one.since_failure_us or 0)
    head = one.claim_id, one.payer_id or NONE, failed, "yes" if one.counts else "no"
    return *head, ended, retries, after, one.state or NONE


def _seconds(microseconds: int) -> str:
    return told(Fraction(microseconds, MICROSECONDS), Unit.SECONDS)


def _tell_json(told: dict[str, object]) -> None:
    tell(json.dumps(told, ensure_ascii=False, indent=2))


def _listed_json(listed: Listed, asked: AskedKpis) -> dict[str, object]:
    return {
        "kpi": listed.kpi.name.value,
        "title": listed.kpi.title,
        "formula": listed.kpi.formula,
        "payer": asked.payer_id,
        "zone": str(asked.zone),
        "period": {"first": str(listed.period.first), "last": str(listed.period.last)},
        "hasMore": listed.has_more,
        "claims": [_claim_json(one, asked) for one in listed.claims],
    }


def _claim_json(one: ClaimBehind, asked: AskedKpis) -> dict[str, object]:
    accepted = one.accepted_at.astimezone(asked.zone).isoformat() if one.accepted_at else None
    return {
        "claimId": one.claim_id,
        "payerId": one.payer_id,
        "firstFailedAt": one.first_failed_at.astimezone(asked.zone).isoformat(),
        "counts": bool(one.counts),
        "givenUp": one.given_up,
        "acceptedAt": accepted,
        "retriesSent": one.retries_sent,
        "sinceFailureMicroseconds": one.since_failure_us if one.is_timed else None,
        "sinceSendMicroseconds": one.since_send_us if one.is_timed else None,
        "state": one.state,
    }
