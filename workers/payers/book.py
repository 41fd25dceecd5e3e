"""The limits of every payer, from its settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from domain.payer_status import PRACTICE, Limits, Window
from gateways.tiss.settings import PayerSettings

_LEASE_MARGIN = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class PayerBook:
    """Limits by payer; `otherwise` is for payers without settings, `settings` for those with a line."""

    limits: Mapping[str, Limits] = field(default_factory=dict)
    otherwise: Limits = PRACTICE
    settings: Mapping[str, PayerSettings] = field(default_factory=dict)

    def of(self, payer_id: str) -> Limits:
        """The limits of one payer."""
        return self.limits.get(payer_id, self.otherwise)


def book_of(settings: Mapping[str, PayerSettings]) -> PayerBook:
    """The book of configured payers, any other treated with care; without any, the book of practice."""
    if not settings:
        return PayerBook()
    return PayerBook({key: limits_from(payer) for key, payer in settings.items()}, Limits(), settings)


def limits_from(payer: PayerSettings) -> Limits:
    """A payer's limits as its settings name them."""
    breaker, waits = payer.breaker, payer.timeouts
    usual, calls = Limits(), 2 if payer.cancel_when_ambiguous else 1
    return Limits(
        per_minute=payer.requests_per_minute or usual.per_minute,
        at_once=payer.at_once,
        threshold=breaker.failures,
        unclear_threshold=max(breaker.failures, breaker.unclear_failures),
        first_wait=timedelta(minutes=breaker.first_wait_minutes),
        longest_wait=timedelta(minutes=breaker.longest_wait_minutes),
        share=breaker.waiting_share,
        lease=calls * timedelta(seconds=waits.queue + waits.total) + _LEASE_MARGIN,
        needs_proof=payer.login is not None or payer.certificate is not None,
        windows=tuple(Window(window.start, window.end) for window in payer.windows),
        hours=payer.hours,
    )
