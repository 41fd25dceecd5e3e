"""What people may take back for a while, instead of being asked whether they are sure."""

from datetime import datetime, timedelta

UNDO_FOR = timedelta(minutes=10)
"""So long after an order it can be taken back by one click; later it takes an order with a reason."""
HOLD, RELEASE = "hold", "release"


def may_be_undone(ordered_at: datetime | None, now: datetime) -> bool:
    """Whether an order is young enough."""
    return ordered_at is not None and now - ordered_at <= UNDO_FOR
