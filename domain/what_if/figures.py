"""What a play came to in numbers: claims by how they ended, sends, load on payers, KPIs; how true it is."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from domain.kpis.definitions import KPIS, Kpi, Measure
from domain.kpis.rounds import MICROSECOND
from domain.kpis.tally import Counted, KpiTally
from domain.what_if.history import Ending, PlayedClaim, StoredHistory

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class PeakLoad:
    """The most sends that one payer had within a minute, and when that minute began."""

    payer_id: str
    sends: int
    at: datetime


@dataclass(frozen=True, slots=True)
class PlayFigures:
    """All numbers of one play, or of what really happened."""

    claims: int
    failed: int
    endings: Mapping[Ending, int]
    sends: int
    unsure: int
    peak: PeakLoad | None
    counted: Counted

    @property
    def recovered(self) -> int:
        """Claims that a retry got through."""
        return self.endings.get(Ending.RECOVERED, 0)

    @property
    def taken(self) -> int:
        """Claims that got through, by a retry or at once."""
        return self.recovered + self.endings.get(Ending.AT_ONCE, 0)

    @property
    def sends_per_claim(self) -> Fraction | None:
        """How often a claim was sent, on average."""
        return Fraction(self.sends, self.claims) if self.claims else None

    @property
    def kpis(self) -> Sequence[tuple[Kpi, Measure]]:
        """Both rules' KPIs of these claims."""
        return [(kpi, kpi.measure(self.counted)) for kpi in KPIS]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of the claims that really failed, how many end the same when they are played as they were decided."""

    failed: int
    same_ending: int
    same_sends: int


def figures(played: Sequence[PlayedClaim]) -> PlayFigures:
    """The numbers of a play."""
    endings = Counter(claim.ending for claim in played)
    return PlayFigures(
        claims=len(played),
        failed=sum(claim.has_failed for claim in played),
        endings={ending: endings[ending] for ending in Ending if endings[ending]},
        sends=sum(len(claim.sends) for claim in played),
        unsure=sum(claim.unsure for claim in played),
        peak=peak_load(played),
        counted=counted(played),
    )


def agreement(history: StoredHistory, played: Iterable[PlayedClaim]) -> Agreement:
    """How near a play comes to what really happened."""
    pairs = zip((claim.real for claim in history.claims), played, strict=True)
    failed = [(real, again) for real, again in pairs if real.has_failed]
    same = sum(real.ending is again.ending for real, again in failed)
    sends = sum(len(real.sends) == len(again.sends) for real, again in failed)
    return Agreement(len(failed), same, sends)


def peak_load(played: Iterable[PlayedClaim]) -> PeakLoad | None:
    """The payer and the minute with most sends, whenever that minute begins."""
    sends: defaultdict[str, list[datetime]] = defaultdict(list)
    for claim in played:
        sends[claim.payer_id].extend(claim.sends)
    peaks = [_peak(payer_id, sorted(moments)) for payer_id, moments in sorted(sends.items()) if moments]
    return max(peaks, key=lambda peak: peak.sends, default=None)


def _peak(payer_id: str, moments: Sequence[datetime]) -> PeakLoad:
    ends = ((bisect_right(moments, at + MINUTE - MICROSECOND) - n, at) for n, at in enumerate(moments))
    most, at = max(ends, key=lambda end: end[0])
    return PeakLoad(payer_id, most, at)


def counted(played: Iterable[PlayedClaim]) -> Counted:
    """What the KPIs are made of."""
    failed = [claim for claim in played if claim.has_failed]
    tally = sum(map(_tally, failed), KpiTally())
    times = sorted(_since(claim, claim.first_failed_at) for claim in failed if _is_recovered(claim))
    low, high = (len(times) - 1) // 2, len(times) // 2
    return Counted(tally, (times[low], times[high]) if times else None)


def _tally(claim: PlayedClaim) -> KpiTally:
    ending, recovered = claim.ending, _is_recovered(claim)
    running = ending in (Ending.RUNNING, Ending.STANDS)
    return KpiTally(
        decided=1,
        permanent=ending is Ending.PERMANENT,
        exhausted=ending is Ending.RETRIES,
        by_deadline=ending is Ending.DEADLINE,
        retried=claim.is_retried,
        recovered=recovered,
        spent=claim.is_retried and ending is Ending.RETRIES,
        ended_by_deadline=claim.is_retried and ending is Ending.DEADLINE,
        retries_sent=_retries(claim) if recovered else 0,
        since_failure_us=_since(claim, claim.first_failed_at) if recovered else 0,
        since_send_us=_since(claim, claim.sends[0]) if recovered else 0,
        running=running,
        running_retried=running and claim.is_retried,
    )


def _is_recovered(claim: PlayedClaim) -> bool:
    return claim.ending is Ending.RECOVERED


def _retries(claim: PlayedClaim) -> int:
    first = claim.first_failed_at
    return sum(first is not None and at > first for at in claim.sends)


def _since(claim: PlayedClaim, start: datetime | None) -> int:
    return 0 if start is None or claim.ended_at is None else (claim.ended_at - start) // MICROSECOND
