"""How long to wait: exponential, bounded, spread by a jitter that is derived and not drawn."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b

from domain.errors import InvalidPolicy

YEAR_SECONDS = 31_536_000
_DRAW_BITS = 64


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """The numbers of the schedule, in whole seconds; an impossible set is an InvalidPolicy.

    `reserve_seconds` before a claim's deadline are kept for a person.
    """

    max_retries: int = 5
    base_seconds: int = 300
    floor_seconds: int = 300
    cap_seconds: int = 14_400
    factor: int = 2
    jitter_percent: int = 20
    reserve_seconds: int = 14_400

    def __post_init__(self) -> None:
        if problems := tuple(_problems(self)):
            raise InvalidPolicy(*problems)


@dataclass(frozen=True, slots=True)
class BackoffCalculation:
    """One wait and how it came about: base wait, window in seconds, place in the window (0 to 1).

    `fitted_from` is the wait of the schedule where a deadline made it shorter.
    """

    retry_count: int
    base_seconds: int
    low_seconds: int
    high_seconds: int
    fraction: float
    seconds: int
    fitted_from: int | None = None

    @property
    def wait(self) -> timedelta:
        """The wait itself."""
        return timedelta(seconds=self.seconds)

    @property
    def minutes(self) -> int:
        """The whole number of minutes nearest to the wait."""
        return (self.seconds + 30) // 60


def base_wait(limits: RetryLimits, retry_count: int) -> int:
    """The wait before jitter, in seconds: base times factor to the power of the count, up to the cap."""
    grown: int = limits.base_seconds * limits.factor**retry_count
    return min(grown, limits.cap_seconds)


def window(limits: RetryLimits, retry_count: int) -> tuple[int, int]:
    """The part of the jitter window inside floor and cap, in seconds; both ends are allowed waits."""
    return _window(limits, base_wait(limits, retry_count))


def _window(limits: RetryLimits, base: int) -> tuple[int, int]:
    low = -(-base * (100 - limits.jitter_percent) // 100)
    high = base * (100 + limits.jitter_percent) // 100
    return max(low, limits.floor_seconds), min(high, limits.cap_seconds)


def calculate(limits: RetryLimits, retry_count: int, draw: int) -> BackoffCalculation:
    """Place a draw of 64 bits in the window; the last second is left free for rounding the time up."""
    base = base_wait(limits, retry_count)
    low, high = _window(limits, base)
    seconds = low + ((high - low) * draw >> _DRAW_BITS)
    fraction = draw / (1 << _DRAW_BITS)
    return BackoffCalculation(retry_count, base, low, high, fraction, seconds)


def derive_draw(claim_id: str, retry_count: int, *, version: str, key: str) -> int:
    """A number of 64 uniform bits that depends on nothing but its arguments."""
    text = f"{claim_id}\x1f{retry_count}\x1f{version}"
    digest = blake2b(text.encode(), digest_size=_DRAW_BITS // 8, key=key.encode())
    return int.from_bytes(digest.digest())


def _problems(limits: RetryLimits) -> Iterator[str]:
    base, floor, cap = limits.base_seconds, limits.floor_seconds, limits.cap_seconds
    if not 1 <= limits.max_retries <= 50:
        yield f"max_retries is {limits.max_retries}: choose 1 to 50"
    if not 1 <= limits.factor <= 10:
        yield f"factor is {limits.factor}: choose 1 to 10"
    if not 0 <= limits.jitter_percent <= 100:
        yield f"jitter_percent is {limits.jitter_percent}: choose 0 to 100"
    if not 0 <= limits.reserve_seconds <= YEAR_SECONDS:
        yield f"reserve is {limits.reserve_seconds} s: choose 0 up to a year"
    if not 1 <= floor <= base <= cap <= YEAR_SECONDS:
        waits = f"shortest {floor} s, first {base} s, longest {cap} s"
        yield f"waits are {waits}: they must grow in this order, from 1 s up to a year"
