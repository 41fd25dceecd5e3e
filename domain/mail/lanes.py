"""Lanes: the numbered queues that mail waits in, each the end of a job type's name.

A company has a lane to itself for as long as its mail may wait there and lanes are left; when all are taken,
it shares its home lane. So the engine sees a closed set of job types, however many companies there are.
"""

from collections.abc import Iterator
from datetime import timedelta
from hashlib import blake2b

MOST_LANES = 1_024
HELD_FOR = timedelta(hours=25)
"""How long a lane stays a company's after its last mail: an hour longer than any mail may wait."""
TOUCHED_EVERY = timedelta(minutes=30)
"""How often its use is written down: seldom enough to cost nothing, often enough for that hour."""


def lane_of(company_id: str, lanes: int) -> str:
    """The company's home lane: the same in every process and version, digits only."""
    _require_number(lanes)
    digest = blake2b(company_id.encode(), digest_size=8).digest()
    return str(int.from_bytes(digest, "big") % lanes)


def lanes_by_choice(company_id: str, lanes: int) -> Iterator[str]:
    """All lanes in the order in which the company looks for a free one: its home, then the next ones."""
    home = int(lane_of(company_id, lanes))
    return (str((home + step) % lanes) for step in range(lanes))


def all_lanes(lanes: int) -> tuple[str, ...]:
    """Every lane that there is."""
    _require_number(lanes)
    return tuple(map(str, range(lanes)))


def _require_number(lanes: int) -> None:
    if not 1 <= lanes <= MOST_LANES:
        raise ValueError(f"there are 1 to {MOST_LANES} lanes, not {lanes}")
