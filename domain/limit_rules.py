"""The critical rules that the limits of a schedule are held to, and which of them given limits leave."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from enum import StrEnum

from domain.backoff import RetryLimits
from domain.errors import InvalidPolicy


class LimitRule(StrEnum):
    """A rule that a policy file may leave, if it says so by this name."""

    BIL_004_V1 = "BIL-004-V1"
    BIL_004_V3 = "BIL-004-V3"
    BIL_004_V4 = "BIL-004-V4"
    BIL_005_V1 = "BIL-005-V1"


SHORTEST_SECONDS = 300
LONGEST_SECONDS = 14_400

Keeps = Callable[[RetryLimits, str], bool]


@dataclass(frozen=True, slots=True)
class LimitBounds:
    """What rules ask of some limits: whether one of them `keeps` it; `asked` and `found` are for people."""

    rules: tuple[LimitRule, ...]
    limits: frozenset[str]
    keeps: Keeps
    asked: str
    found: Callable[[RetryLimits], str]

    @property
    def names(self) -> str:
        """The rules for people."""
        return ", ".join(self.rules)

    def hold(self, limits: RetryLimits, among: Collection[str]) -> bool:
        """Whether those of the limits that are named in `among` are as the rules ask."""
        return all(self.keeps(limits, name) for name in self.limits & set(among))


def _within(low: int, high: int) -> Keeps:
    return lambda limits, name: low <= getattr(limits, name) <= high


def _leave_room(limits: RetryLimits, _name: str) -> bool:
    """At least half of every window lies inside: a window is cut at one end only, or is wide enough."""
    return limits.floor_seconds * 100 <= limits.cap_seconds * 80


def _waits(limits: RetryLimits) -> str:
    return f"waits of {limits.floor_seconds / 60:g} to {limits.cap_seconds / 60:g} min"


WAITS = LimitBounds(
    rules=(LimitRule.BIL_004_V3,),
    limits=frozenset({"floor_seconds", "base_seconds", "cap_seconds"}),
    keeps=_within(SHORTEST_SECONDS, LONGEST_SECONDS),
    asked="waits of 5 to 240 min",
    found=_waits,
)
_BOUNDS = (
    LimitBounds(
        rules=(LimitRule.BIL_004_V1, LimitRule.BIL_005_V1),
        limits=frozenset({"max_retries"}),
        keeps=_within(1, 5),
        asked="1 to 5 retries",
        found=lambda limits: f"{limits.max_retries} retries",
    ),
    WAITS,
    LimitBounds(
        rules=(LimitRule.BIL_004_V4,),
        limits=frozenset({"jitter_percent"}),
        keeps=_within(20, 20),
        asked="a jitter of +-20 %",
        found=lambda limits: f"a jitter of +-{limits.jitter_percent} %",
    ),
    LimitBounds(
        rules=(LimitRule.BIL_004_V4,),
        limits=frozenset({"floor_seconds", "cap_seconds"}),
        keeps=_leave_room,
        asked="a shortest wait of at most 80 % of the longest, which leaves the jitter its room",
        found=_waits,
    ),
)
_ALL = frozenset(field.name for field in fields(RetryLimits))


def left_bounds(limits: RetryLimits, among: Collection[str] = _ALL) -> tuple[LimitBounds, ...]:
    """The bounds that the limits, or only those named in `among`, do not keep."""
    return tuple(bounds for bounds in _BOUNDS if not bounds.hold(limits, among))


def left_rules(limits: RetryLimits) -> tuple[LimitRule, ...]:
    """The rules that the limits leave, sorted by name."""
    return tuple(sorted({rule for bounds in left_bounds(limits) for rule in bounds.rules}))


def require_named(limits: RetryLimits, leaves: Collection[LimitRule]) -> None:
    """Limits that leave a rule without naming it are an InvalidPolicy that says how to mend them."""
    unnamed = [bounds for bounds in left_bounds(limits) if not set(bounds.rules) <= set(leaves)]
    if unnamed:
        raise InvalidPolicy(*(_problem(bounds, limits) for bounds in unnamed))


def _problem(bounds: LimitBounds, limits: RetryLimits) -> str:
    names = ", ".join(f'"{rule}"' for rule in bounds.rules)
    return (
        f"{bounds.found(limits)}: {bounds.names} asks for {bounds.asked} (critical); "
        f"stay within, or say that the policy leaves it: leaves = [{names}]"
    )
