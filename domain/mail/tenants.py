"""Where companies stand in the turns of all workers together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from domain.mail.fairness import TenantFairnessMetrics

NOTE_EVERY = timedelta(seconds=5)
FRESH = timedelta(seconds=30)
"""For how long after its last note a worker's turns are held for what they are now."""
KEPT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class NotedTenant:
    """A company's figures as one worker noted them."""

    figures: TenantFairnessMetrics
    at: datetime


def all_together(
    noted: Iterable[NotedTenant], base_priority: int, now: datetime
) -> Sequence[TenantFairnessMetrics]:
    """One entry for each company: what was processed added up, and the turns of whoever passes it over most.

    Turns that nobody has noted lately are nobody's: a company that waits is noted again and again.
    """
    by_company = sorted(noted, key=lambda one: one.figures.company_id)
    return [
        _one(company, list(group), base_priority, now)
        for company, group in groupby(by_company, key=lambda one: one.figures.company_id)
    ]


def _one(
    company: str, noted: Sequence[NotedTenant], base_priority: int, now: datetime
) -> TenantFairnessMetrics:
    fresh = [one.figures for one in noted if abs(now - one.at) <= FRESH]
    served = [at for one in noted if (at := one.figures.last_processed_at)]
    return TenantFairnessMetrics(
        company_id=company,
        last_processed_at=max(served, default=None),
        rounds_without_processing=max((one.rounds_without_processing for one in fresh), default=0),
        current_priority=min((one.current_priority for one in fresh), default=base_priority),
        total_processed=sum(one.figures.total_processed for one in noted),
        consecutive_batch_count=max((one.consecutive_batch_count for one in fresh), default=0),
    )


def worth_noting(
    before: Iterable[TenantFairnessMetrics], now: Iterable[TenantFairnessMetrics]
) -> Sequence[TenantFairnessMetrics]:
    """Of a worker's figures those that have changed, and those of companies that are passed over."""
    known = {one.company_id: one for one in before}
    return [one for one in now if one != known.get(one.company_id) or one.rounds_without_processing]
