"""What a source of many lanes asks of others: who waits, whose turn it is, how many may go.

A lane is the end of a job type's name, so that jobs of different tenants can be asked for apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane and whose it is."""

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

    async def served(self, lane: Lane, number: int) -> None:
        """So many jobs of the lane were taken."""
        ...


@dataclass(frozen=True, slots=True)
class Allowance:
    """Permits for so many jobs; when there are none, when to ask again, and whether that holds for all."""

    permits: tuple[str, ...]
    again_seconds: float = 0.0
    for_all: bool = False


class Permits(Protocol):
    """Keeps the limits that all processes share."""

    async def take(self, tenant: str, most: int) -> Allowance:
        """Permits for at most so many jobs of a tenant."""
        ...

    def ended(self, permit: str) -> None:
        """A job that had a permit is settled."""
        ...

    def unused(self, permits: Sequence[str]) -> None:
        """Permits for which no job was found."""
        ...

    async def settle(self) -> None:
        """Write down what has ended or was not used, when there is time for it."""
        ...


class Unlimited:
    """Permits for everybody at once."""

    async def take(self, tenant: str, most: int) -> Allowance:  # noqa: ARG002  # the port's signature
        """As many as asked for."""
        return Allowance(("",) * most)

    def ended(self, permit: str) -> None:
        """Nothing to note."""

    def unused(self, permits: Sequence[str]) -> None:
        """Nothing to note."""

    async def settle(self) -> None:
        """Nothing to write."""


@dataclass(frozen=True, slots=True)
class LaneTerms:
    """How the lanes of one handler are served; its jobs are of type `type-lane`.

    `look_seconds` is how often the source is asked, `sweep_seconds` how often a lane is looked into in which
    nothing is known to wait. A lane that was found empty is asked again after `first_pause`, then after
    twice as long, `longest_pause` at most.
    """

    source: LaneSource
    order: LaneOrder
    permits: Permits = field(default_factory=Unlimited)
    look_seconds: float = 0.03
    sweep_seconds: float = 30.0
    first_pause: float = 0.01
    longest_pause: float = 1.0
