"""What the runtime emits to its listeners: facts without variables, for metrics, logs and health."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GatewayAnswered:
    """The gateway took a request."""


@dataclass(frozen=True, slots=True)
class GatewayFailed:
    """A request for jobs failed; it is made again after the pause."""

    type: str
    how: str
    status: str
    pause: float


@dataclass(frozen=True, slots=True)
class RenewalFailed:
    """No other channel could be opened for a refused token: the one there is goes on."""

    error: str


@dataclass(frozen=True, slots=True)
class LoopCrashed:
    """Bringing jobs in met an error it did not foresee, and starts over after the pause."""

    type: str
    how: str
    error: str
    where: tuple[str, ...]
    pause: float


@dataclass(frozen=True, slots=True)
class LoopBlocked:
    """The event loop was kept from its turn for so many seconds; `longest` since it is watched."""

    seconds: float
    longest: float


@dataclass(frozen=True, slots=True)
class StreamsUnknown:
    """The gateway is too old for push streams: polling serves alone."""

    type: str


@dataclass(frozen=True, slots=True)
class JobsHeld:
    """What every job needs is away: no job is taken until it is back."""


@dataclass(frozen=True, slots=True)
class JobsResumed:
    """It is back, and jobs are taken again."""


@dataclass(frozen=True, slots=True)
class JobTaken:
    """A job came in; the engine `gave_out` the job at so many seconds of its own clock."""

    type: str
    how: str
    gave_out: float = 0.0


@dataclass(frozen=True, slots=True)
class JobExpired:
    """A job waited here until its lock was gone; the engine gives it to somebody again."""

    type: str
    key: int


@dataclass(frozen=True, slots=True)
class JobCrashed:
    """A handler met an error it did not foresee; the error's text may quote data and is left out."""

    type: str
    key: int
    error: str
    where: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobDone:
    """A job was reported, and how; `settled_before` when the engine had its answer already."""

    type: str
    key: int
    outcome: str
    seconds: float
    settled_before: bool = False


@dataclass(frozen=True, slots=True)
class ReportRetried:
    """A report was refused or got lost, and is sent again."""

    type: str
    key: int
    status: str
    pause: float


@dataclass(frozen=True, slots=True)
class ReportGivenUp:
    """A report did not get through while the job was ours; the engine delivers the job again."""

    type: str
    key: int
    status: str


RuntimeEvent = (
    GatewayAnswered
    | GatewayFailed
    | RenewalFailed
    | LoopCrashed
    | LoopBlocked
    | StreamsUnknown
    | JobsHeld
    | JobsResumed
    | JobTaken
    | JobExpired
    | JobCrashed
    | JobDone
    | ReportRetried
    | ReportGivenUp
)
Listener = Callable[[RuntimeEvent], None]


def nobody(_event: RuntimeEvent) -> None:
    """Listens to nothing."""
