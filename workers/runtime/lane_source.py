"""Brings jobs of many lanes in, lane by lane in the order of their turns, and no more than can begin at once.

There are no push streams here: a pushed job comes out of turn.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass

from workers.runtime.executor import Executor
from workers.runtime.gateway import Gateway
from workers.runtime.health import Heartbeat
from workers.runtime.job_source import POLL, JobSource
from workers.runtime.lanes import Allowance, Lane, LanesUnknownError, LaneTerms
from workers.runtime.options import WorkerOptions
from workers.runtime.timings import Backoff

NO_LONG_POLL = -1.0
LONGEST_WAIT_SECONDS = 1.0
CLOSE_SECONDS = 5.0
LANES = "lanes"


@dataclass(slots=True)
class _Asked:
    """When a lane was last asked, from when on it is worth asking again, and the pause after that."""

    at: float
    again_at: float = float("-inf")
    pause: float = 0.0


class LaneJobSource(JobSource):
    """One loop for all lanes of a handler; the lane is chosen when there is room for its job, not before."""

    def __init__(
        self, gateway: Gateway, executor: Executor, options: WorkerOptions, lanes: LaneTerms
    ) -> None:
        super().__init__(gateway, executor, options)
        self._lanes = lanes
        self._asked: dict[str, _Asked] = {}
        self._waiting: Sequence[Lane] = ()
        self._every: Sequence[Lane] = ()
        self._look_at = float("-inf")
        self._permit_of: dict[int, str] = {}
        executor.ended = self._end

    def loops(self, heartbeat: Heartbeat) -> list[asyncio.Task[None]]:
        """The one loop."""
        return [asyncio.create_task(self.poll(heartbeat))]

    async def close(self) -> None:
        """Give permits back: others need not wait for their end."""
        with suppress(LanesUnknownError, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._lanes.permits.settle()

    async def _poll_once(self, heartbeat: Heartbeat) -> None:
        await self._gate.passed(heartbeat.beat)
        heartbeat.beat()
        if not await self._load.free_within(1, self._timings.long_poll):
            return  # busy is not stalled
        if candidates := await self._candidates():
            await self._serve(candidates)
        else:
            await self._idle()

    async def _candidates(self) -> list[Lane]:
        """Lanes worth asking now: those with something waiting, and those not looked into for long."""
        if time.monotonic() >= self._look_at:
            await self._look()
        now = time.monotonic()
        known = [lane for lane in self._waiting if now >= self._of(lane).again_at]
        named, overdue = {lane.name for lane in self._waiting}, now - self._lanes.sweep_seconds
        forgotten = (lane for lane in self._every if lane.name not in named)
        return known + [lane for lane in forgotten if self._of(lane).at <= overdue]

    async def _look(self) -> None:
        before = {lane.name for lane in self._waiting}
        self._waiting = await self._lanes.source.waiting()
        self._every = await self._lanes.source.every()
        self._look_at = time.monotonic() + self._lanes.look_seconds
        for lane in self._waiting:
            if lane.name not in before:
                self._note(lane, found=1)  # something new is there

    async def _serve(self, candidates: Sequence[Lane]) -> None:
        turn = self._lanes.order.next_turn(candidates)
        most = min(turn.most, self._load.free)
        allowance = await self._lanes.permits.take(turn.lane.tenant, most)
        if allowance.permits:
            await self._ask_lane(turn.lane, allowance.permits)
        else:
            await self._hold_off(turn.lane, allowance)

    async def _ask_lane(self, lane: Lane, permits: tuple[str, ...]) -> None:
        used = 0
        try:
            job_type = f"{self.job_type}-{lane.name}"
            async with aclosing(self._jobs(job_type, len(permits), NO_LONG_POLL)) as jobs:
                async for activated in jobs:
                    if activated.key not in self._permit_of:  # else it is here already
                        self._permit_of[activated.key] = permits[used]
                        used += 1
                    await self._receive(activated, POLL)
        finally:
            self._lanes.permits.unused(permits[used:])
            self._note(lane, used)
            await self._lanes.order.served(lane, used)

    def _note(self, lane: Lane, found: int) -> None:
        asked, terms = self._of(lane), self._lanes
        asked.at = time.monotonic()
        pause = asked.pause or terms.first_pause
        asked.again_at = float("-inf") if found else asked.at + pause
        asked.pause = 0.0 if found else min(2 * pause, terms.longest_pause)

    async def _hold_off(self, lane: Lane, allowance: Allowance) -> None:
        """Let others go while this lane may not; when nobody may, wait."""
        seconds = min(allowance.again_seconds, LONGEST_WAIT_SECONDS)
        if allowance.for_all:
            await asyncio.sleep(seconds)
        else:
            self._of(lane).again_at = time.monotonic() + seconds

    async def _idle(self) -> None:
        await self._lanes.permits.settle()
        next_at = min([self._look_at, *(self._of(lane).again_at for lane in self._waiting)])
        await self._lanes.source.until_changed(max(0.0, next_at - time.monotonic()))
        self._look_at = float("-inf")

    async def _recover(self, how: str, error: BaseException, backoff: Backoff) -> None:
        """Who cannot say who waits has not crashed: what they stand on may be away."""
        if isinstance(error, LanesUnknownError):
            self._gate.doubt()
            await self._start_over(LANES, error, backoff)
        else:
            await super()._recover(how, error, backoff)

    def _of(self, lane: Lane) -> _Asked:
        if lane.name not in self._asked:  # sweeps are spread: not all lanes are looked into at once
            ago = self._options.rng.uniform(0, self._lanes.sweep_seconds)
            self._asked[lane.name] = _Asked(time.monotonic() - ago)
        return self._asked[lane.name]

    def _end(self, key: int) -> None:
        if (permit := self._permit_of.pop(key, None)) is not None:
            self._lanes.permits.ended(permit)
