"""KPIs counted and kept: the last days and weeks anew each day, since what becomes of claims changes them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import structlog

from domain.kpis.definitions import KPIS
from domain.kpis.periods import Frequency, Period, latest_complete, run_up_to
from domain.kpis.tally import Counted
from domain.ports import Clock
from domain.readings import Reading
from persistence.repositories.kpi_snapshots import ALL_PAYERS, KpiSnapshot
from persistence.store import Store, Transaction

RECOUNTED: Mapping[Frequency, int] = {Frequency.DAILY: 14, Frequency.WEEKLY: 5}
"""How many periods that are over are counted again each day."""
PAGE = 500
LOOK_BACK = timedelta(days=8)
"""Workers of the version before write no first rounds: how far back theirs are looked for."""
log = structlog.get_logger(__name__)


async def fill_in(store: Store, now: datetime) -> int:
    """Make the first rounds that nobody has kept: of earlier versions, all of them the first time."""
    last = await store.look(lambda tx: tx.kpi_snapshots.last_taken_at(now=now))
    since = None if last is None else min(last, now) - LOOK_BACK
    filled = 0
    page = await _missing(store, since, -1)
    while page:
        filled += await _rebuilt(store, [claim_id for _, claim_id in page])
        page = await _missing(store, since, page[-1][0])
    return filled + await _noticed(store, now)


async def _missing(store: Store, since: datetime | None, after: int) -> Sequence[tuple[int, str]]:
    return await store.look(lambda tx: tx.first_rounds.missing(since, after, PAGE))


async def _noticed(store: Store, now: datetime) -> int:
    late = await store.look(lambda tx: tx.first_rounds.unnoticed(now - LOOK_BACK, 10 * PAGE))
    return await _rebuilt(store, late) if late else 0


async def _rebuilt(store: Store, claim_ids: Sequence[str]) -> int:
    async def rebuild(tx: Transaction) -> int:
        await tx.first_rounds.lock_claims(claim_ids)
        return await tx.first_rounds.rebuild(set(claim_ids))

    return await store.run(rebuild)


async def take_snapshot(store: Store, zone: tzinfo, now: datetime) -> int:
    """Count the last periods for all payers and for each, and keep what came of it; how many rows.

    What clocks that were ahead have counted goes: periods that are not over yet would pass for the latest.
    """
    filled = await fill_in(store, now)
    if ahead := await store.run(lambda tx: tx.kpi_snapshots.forget_ahead(now=now)):
        log.warning("kpis_from_wrong_clock", rows=ahead)
    kept = 0
    for period in periods_to_count(zone, now):
        kept += await _taken(store, period, now)
    log.info("kpis_counted", rows=kept, first_rounds_filled_in=filled)
    return kept


async def _taken(store: Store, period: "CountedPeriod", now: datetime) -> int:
    counted = await store.look(lambda tx: _count(tx, period, now))
    await store.run(lambda tx: tx.kpi_snapshots.keep(counted))
    return len(counted)


async def kpi_readings(store: Store, clock: Clock) -> Sequence[Reading]:
    """The gauges of KPIs and their targets, from the latest snapshot."""
    now = await clock.now()
    return await store.look(lambda tx: tx.kpi_snapshots.readings(now=now))


@dataclass(frozen=True, slots=True)
class CountedPeriod:
    """A period, and how often a rule looks at such."""

    period: Period
    frequency: Frequency


def periods_to_count(zone: tzinfo, now: datetime) -> Iterator[CountedPeriod]:
    """The last periods that are over, oldest first."""
    for frequency, number in RECOUNTED.items():
        for period in run_up_to(latest_complete(frequency, now, zone), number):
            yield CountedPeriod(period, frequency)


async def _count(tx: Transaction, counted: CountedPeriod, now: datetime) -> Sequence[KpiSnapshot]:
    whole = {ALL_PAYERS: await tx.kpis.counted(counted.period)}
    every: Mapping[str, Counted] = whole | dict(await tx.kpis.by_payer(counted.period))
    return [
        KpiSnapshot(kpi.name, counted.frequency, counted.period.first, payer, kpi.measure(found), now)
        for kpi in KPIS
        if kpi.frequency is counted.frequency
        for payer, found in every.items()
    ]
