"""The limits of every payer, from its settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from domain.payer_status import PRACTICE, PayerLimits, PlannedDowntime
from gateways.tiss.settings import PayerSettings

_LEASE_MARGIN = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class LimitsByPayer:
    """Limits by payer; `otherwise` is for payers without settings."""

    limits: Mapping[str, PayerLimits] = field(default_factory=dict)
    otherwise: PayerLimits = PRACTICE
    settings: Mapping[str, PayerSettings] = field(default_factory=dict)

    def of(self, payer_id: str) -> PayerLimits:
        """The limits of one payer."""
        return self.limits.get(payer_id, self.otherwise)


def limits_by_payer(settings: Mapping[str, PayerSettings]) -> LimitsByPayer:
    """The limits of configured payers, any other treated with care; without any, all are for practice."""
    if not settings:
        return LimitsByPayer()
    return LimitsByPayer(
        {key: limits_from(payer) for key, payer in settings.items()}, PayerLimits(), settings
    )


def limits_from(payer: PayerSettings) -> PayerLimits:
    """A payer's limits as its settings name them."""
    breaker, waits = payer.breaker, payer.timeouts
    usual, calls = PayerLimits(), 2 if payer.cancel_when_ambiguous else 1
    return PayerLimits(
        per_minute=payer.requests_per_minute or usual.per_minute,
        at_once=payer.at_once,
        threshold=breaker.failures,
        unclear_threshold=max(breaker.failures, breaker.unclear_failures),
        first_wait=timedelta(minutes=breaker.first_wait_minutes),
        longest_wait=timedelta(minutes=breaker.longest_wait_minutes),
        longest_hold=timedelta(minutes=breaker.longest_hold_minutes),
        share=breaker.waiting_share,
        lease=calls * timedelta(seconds=waits.queue + waits.total) + _LEASE_MARGIN,
        needs_proof=payer.login is not None or payer.certificate is not None,
        windows=tuple(PlannedDowntime(window.start, window.end) for window in payer.windows),
        hours=payer.hours,
    )
