"""What a source of many lanes asks of others: who waits, whose turn it is, how many may go.

A lane is the end of a job type's name, so that jobs of different tenants can be asked for apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane and who waits in it; where tenants share it there is one for each of them."""

    name: str
    tenant: str


@dataclass(frozen=True, slots=True)
class LaneTurn:
    """The lane that is served next, and at most how many of its jobs in a row."""

    lane: Lane
    most: int


class LanesUnknownError(Exception):
    """Who waits, or how many may go, cannot be told at the moment; the text names no data."""


class LaneSource(Protocol):
    """Knows who waits; lanes are discovered, not configured."""

    async def waiting(self) -> Sequence[Lane]:
        """The lanes with something waiting, the longest waiting first; may be late or miss some."""
        ...

    async def every(self) -> Sequence[Lane]:
        """All lanes there are: each is looked into now and then, whatever `waiting` says."""
        ...

    async def until_changed(self, seconds: float) -> None:
        """Return after so many seconds, or as soon as something new is known to wait."""
        ...


class LaneOrder(Protocol):
    """Decides whose turn it is."""

    def next_turn(self, waiting: Sequence[Lane]) -> LaneTurn:
        """Which of these lanes, of which there is at least one, is served next."""
        ...

    async def served(self, lane: Lane, tenants: Sequence[str]) -> None:
        """Jobs of these tenants, one or more for each, were taken out of the lane in this order."""
        ...


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many jobs may be taken; when none may, when to ask again, and whether that holds for all."""

    number: int
    again_seconds: float = 0.0
    for_all: bool = False


class LaneLimits(Protocol):
    """Says how many jobs are worth taking; whether each may go is its handler's to find out."""

    async def room(self, tenant: str, most: int) -> Allowance:
        """How many jobs of a tenant may be taken now, so many at most."""
        ...


class Unlimited:
    """Room for everybody at once."""

    async def room(self, tenant: str, most: int) -> Allowance:  # noqa: ARG002  # the port's signature
        """As many as asked for."""
        return Allowance(most)


@dataclass(frozen=True, slots=True)
class LaneTerms:
    """How the lanes of one handler are served; its jobs are of type `type-lane`.

    `look_seconds` is how often the source is asked, `sweep_seconds` how often a lane is looked into in which
    nothing is known to wait. A lane that was found empty is asked again after `first_pause`, then after
    twice as long, `longest_pause` at most. `tenant_variable` names whose job it is where a lane is shared.
    """

    source: LaneSource
    order: LaneOrder
    limits: LaneLimits = field(default_factory=Unlimited)
    tenant_variable: str | None = None
    look_seconds: float = 0.03
    sweep_seconds: float = 30.0
    first_pause: float = 0.01
    longest_pause: float = 1.0
