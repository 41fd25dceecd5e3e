"""Open job streams, and the bells that wake long polls."""

import asyncio
import random
from collections import defaultdict
from dataclasses import dataclass, field

import grpc

from tests.support.faults.jobs import StoredJob, Terms

ROOM = 64  # a stream that is not read is passed over, as a gateway does with a blocked client


@dataclass(frozen=True, slots=True)
class Break:
    """The stream is to end with this status."""

    status: grpc.StatusCode


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """One worker's open stream and the jobs on their way through it."""

    type: str
    terms: Terms
    queue: asyncio.Queue[StoredJob | Break] = field(default_factory=asyncio.Queue)

    @property
    def has_room(self) -> bool:
        """Whether one more job may be pushed."""
        return self.queue.qsize() < ROOM

    def left_behind(self) -> list[StoredJob]:
        """Empties the stream: jobs that were never handed over."""
        items = [self.queue.get_nowait() for _ in range(self.queue.qsize())]
        return [item for item in items if isinstance(item, StoredJob)]


class Streams:
    """All open streams by job type."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._open: dict[str, list[Stream]] = defaultdict(list)

    def open(self, type_: str, terms: Terms) -> Stream:
        """A new stream; it gets jobs until it is closed."""
        stream = Stream(type_, terms)
        self._open[type_].append(stream)
        return stream

    def close(self, stream: Stream) -> None:
        """No more jobs for this stream."""
        self._open[stream.type].remove(stream)

    def choose(self, type_: str) -> Stream | None:
        """Any stream of the type that takes one more job."""
        able = [stream for stream in self._open[type_] if stream.has_room]
        return self._rng.choice(able) if able else None

    def break_all(self, status: grpc.StatusCode) -> int:
        """End every stream with an error; how many there were."""
        streams = [stream for group in self._open.values() for stream in group]
        for stream in streams:
            stream.queue.put_nowait(Break(status))
        return len(streams)

    def count(self, type_: str) -> int:
        """How many streams of the type are open."""
        return len(self._open[type_])


class Bells:
    """Long polls wait here for jobs of their type."""

    def __init__(self) -> None:
        self._bells: dict[str, asyncio.Event] = {}

    def ring(self, type_: str) -> None:
        """Wake all who wait for the type."""
        if (bell := self._bells.pop(type_, None)) is not None:
            bell.set()

    async def wait(self, type_: str, seconds: float) -> None:
        """Wait for the next ring, but no longer than this."""
        bell = self._bells.setdefault(type_, asyncio.Event())
        try:
            await asyncio.wait_for(bell.wait(), seconds)
        except TimeoutError:
            return
