"""What an answer says about its payer: whether its own system processed the claim, and when to come."""

from datetime import timedelta

from domain.submission import (
    Accepted,
    AnswerLost,
    ArrivalUnknown,
    Duplicate,
    Failed,
    ProtocolMissing,
    SendResult,
    Settled,
)

Result = SendResult | Settled
_RATE_CODES = frozenset({"HTTP:429", "HTTP:425"})


def is_processed(result: Result) -> bool:
    """Only what the payer's own system has processed proves that it takes claims."""
    match result:
        case Accepted() | Duplicate() | ProtocolMissing() | ArrivalUnknown():
            return True
        case Failed(code=str() as code, payer_down=False):
            return code.startswith("TISS:")
        case _:
            return False


def wish_of(result: Result, busy_wait: timedelta) -> timedelta | None:
    """How much later the payer wishes us to come; `busy_wait` where it does not say."""
    match result:
        case Failed(code=code, retry_after=None, payer_down=False) if code in _RATE_CODES:
            return busy_wait
        case Failed(retry_after=timedelta() as wish) | AnswerLost(retry_after=timedelta() as wish):
            return wish
        case _:
            return None
