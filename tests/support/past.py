"""Histories to be played: claims as they were sent, by rules that are the packaged ones unless told."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from domain.payer_status import PayerLimits
from domain.policy import Policy
from domain.submission import Accepted, Failed, Settled
from domain.what_if.history import Ending, PastClaim, PastSend, PlayedClaim, StoredHistory
from domain.what_if.play import Rules
from tests.support.builders import NOW, POLICY, later

SECOND = timedelta(seconds=1)
DOWN = Failed("SERVICE_UNAVAILABLE - the payer's service is down", "HTTP:503", payer_down=True)
SLOW = Failed("TIMEOUT - the payer gave up reading the request", "HTTP:408")
REFUSED = Failed("REFUSED - TISS 5014", "TISS:5014", refused=True)
TAKEN = Accepted("P-1")
UNPACED = PayerLimits(per_minute=None, at_once=10_000, needs_proof=False)


def sent(at: datetime, result: Settled | None) -> PastSend:
    return PastSend(at, SECOND, result)


def past(
    number: int,
    sends: Sequence[PastSend],
    *,
    ending: Ending = Ending.AT_ONCE,
    payer: str = "p",
    **more: datetime,
) -> PastClaim:
    """A claim that came when it was first sent."""
    claim_id, failed = f"CLM-PAST-{number}", [send for send in sends if isinstance(send.result, Failed)]
    moments = tuple(send.at for send in sends)
    first = failed[0].at + SECOND if failed else None
    end = sends[-1].at + SECOND if ending is not Ending.RUNNING else None
    retried = len(sends) > 1 or ending in (Ending.RUNNING, Ending.RETRIES)
    real = PlayedClaim(claim_id, payer, ending, moments, first, bool(failed) and retried, end)
    came = more.pop("came_at", moments[0])
    return PastClaim(claim_id, payer, came, tuple(sends), real, **more)


def history(*claims: PastClaim) -> StoredHistory:
    """All that happened in thirty days."""
    return StoredHistory(claims, later(days=30))


def rules(policy: Policy = POLICY, limits: PayerLimits = UNPACED) -> Rules:
    return Rules(policy, lambda _payer: limits)


__all__ = ["DOWN", "NOW", "REFUSED", "SLOW", "TAKEN", "UNPACED", "history", "later", "past", "rules", "sent"]
