"""Every page that looks through the history, and how long the server takes for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from time import perf_counter

import httpx

from domain.kpis.definitions import KPIS
from tests.bench.console.history import PAYERS, HistorySize

AIM_MS = 150.0
WARM = 2


@dataclass(frozen=True, slots=True)
class PageTime:
    """Milliseconds of one page."""

    path: str
    took: Sequence[float]

    def at(self, share: float) -> float:
        """The time within which this share of them was there."""
        return percentile(self.took, share)

    @property
    def meets_aim(self) -> bool:
        return self.at(0.95) < AIM_MS


def percentile(took: Sequence[float], share: float) -> float:
    """The value that so many are not above."""
    ranked = sorted(took)
    return ranked[min(int(share * len(ranked)), len(ranked) - 1)] if ranked else 0.0


def paths(size: HistorySize) -> Sequence[str]:
    """What people open; the auditor's are `audit_paths`."""
    claim, day = size.claim(size.claims - 63).claim_id, f"{size.now.date() - timedelta(days=1)}"
    return (
        "/",
        "/today/live",
        "/claims",
        "/claims?order=deadline",
        "/claims?state=review",
        "/claims?state=waiting",
        "/claims?state=held",
        f"/claims?payer={PAYERS[3]}",
        f"/claims?payer={PAYERS[3]}&state=accepted",
        "/claims?team=REGISTRATION",
        "/claims?risk=1",
        f"/claims?text={size.claims // 2}",
        "/claims?text=nothing-like-it",
        f"/claims/{claim}",
        "/reviews",
        "/reviews?team=all",
        f"/reviews/group?payer={PAYERS[1]}",
        "/reviews/group?team=REGISTRATION&reason=PERMANENT_ERROR&category=INVALID_PATIENT_DATA",
        f"/reviews/do/resend?payer={PAYERS[1]}",
        "/reviews/bulk",
        "/payers",
        f"/payers/{PAYERS[3]}",
        "/letters",
        "/letters/redrive",
        "/indicators",
        f"/indicators?payer={PAYERS[3]}&unit=week",
        *(f"/indicators/{kpi.name}" for kpi in KPIS[:2]),
        "/reports",
        f"/reports/permanent/{day}",
        "/people",
        "/account",
    )


def audit_paths(size: HistorySize) -> Sequence[str]:
    """What who audits opens."""
    return ("/audit", f"/audit/trail?claim={size.claim(size.claims - 63).claim_id}")


async def timed(browser: httpx.AsyncClient, path: str, rounds: int) -> PageTime:
    """One page, again and again, without a network between."""
    took = []
    for number in range(WARM + rounds):
        begun = perf_counter()
        answer = await browser.get(path)
        if answer.status_code != httpx.codes.OK:
            raise SystemExit(f"{path}: status {answer.status_code}")
        if number >= WARM:
            took.append(1_000 * (perf_counter() - begun))
    return PageTime(path, took)
