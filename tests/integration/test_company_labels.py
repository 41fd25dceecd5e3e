"""Whose counts have a label: the companies with most mail, and a counter that never goes down for it."""

from datetime import timedelta

import pytest
from opentelemetry.sdk.resources import Resource

from domain.observations import LetterMovedIn
from persistence.store import Store
from tests.support.builders import later
from tests.support.mail_stage import MovableClock
from tests.support.mails import a_mail
from workers.app.telemetry.business import BusinessMetrics, KnownNames
from workers.app.telemetry.companies import RANKED_OVER, CompanyRanking
from workers.app.telemetry.label_names import LabelNames
from workers.app.telemetry.metrics import ProcessMetrics

LETTERS = "dlq_by_company"
Counts = dict[str, float]


async def queue(store: Store, first: int, companies: dict[str, int], days: float) -> None:
    """So many mails of each company, queued so many days ago."""
    given = [company for company, number in companies.items() for _ in range(number)]
    async with store.transaction() as tx:
        for number, company in enumerate(given, start=first):
            at = later(days=-days)
            await tx.mails.add(a_mail(number, company_id=company, enqueued_at=at))


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_labels_go_to_the_biggest_and_no_counter_goes_down(store: Store) -> None:
    metrics, names = ProcessMetrics(Resource.create()), LabelNames(["ours"], at_most=3)
    count = BusinessMetrics(metrics, KnownNames(companies=names)).count
    ranking = CompanyRanking(store, MovableClock(), names, metrics.counters)

    def died(*companies: str) -> Counts:
        for company in companies:
            count(LetterMovedIn(company, "550"))
        return {labels[0]: number for labels, number in metrics.counters.of(LETTERS)}

    assert died("came-first", "second", "big", "big") == {"came-first": 1, "second": 1, "other": 2}
    week = RANKED_OVER / timedelta(days=1)
    await queue(store, 1, {"big": 3, "second": 2, "came-first": 1, "ours": 9}, days=week - 1)
    await queue(store, 100, {"was-big": 20}, days=week + 1)
    await ranking.read()
    assert names.named() == ("ours", "second", "big")
    assert died() == {"came-first": 1, "second": 1, "other": 2, "big": 0}
    assert died("big", "came-first") == {"came-first": 1, "second": 1, "other": 3, "big": 1}
