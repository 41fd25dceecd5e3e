"""What a worker and its parts share: name, randomness, timings, gate and listener."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import grpc

from workers.runtime.events import Listener, nobody
from workers.runtime.gate import Gate
from workers.runtime.timings import Backoff, Timings


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """`reopen` opens another channel when a token was refused; while `gate` is shut no job is taken."""

    name: str
    rng: random.Random
    reopen: Callable[[], grpc.aio.Channel] | None = None
    gate: Gate = field(default_factory=Gate)
    listener: Listener = nobody
    timings: Timings = field(default_factory=Timings)

    def backoff(self, longest: float) -> Backoff:
        """Pauses of one loop or one report, none longer than this."""
        return Backoff(self.rng, self.timings.first_pause, longest)
