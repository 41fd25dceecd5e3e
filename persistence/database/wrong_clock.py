"""Leases that a clock gave which was ahead: none lasts longer than one that begins now."""

from datetime import datetime, timedelta

import structlog

log = structlog.get_logger(__name__)


def latest_end(now: datetime, longest: timedelta) -> datetime:
    """When a lease ends at the latest; a later end was written by a clock that was wrong."""
    return now + longest


def tell_shortened(what: str, until: datetime, **where: object) -> None:
    """Say it once: the end was written anew, so nobody finds it again."""
    log.warning("lease_from_wrong_clock", lease=what, counts_until=until.isoformat(), **where)
