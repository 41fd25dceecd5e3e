"""Brings jobs of many lanes in, lane by lane in the order of their turns, and no more than can begin at once.

There are no push streams here: a pushed job comes out of turn.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from pyzeebe.proto.gateway_pb2 import ActivatedJob

from workers.runtime.executor import Executor
from workers.runtime.gateway import Gateway
from workers.runtime.health import Heartbeat
from workers.runtime.job_reading import read_job
from workers.runtime.job_source import POLL, JobSource
from workers.runtime.lanes import Allowance, Lane, LanesUnknownError, LaneTerms
from workers.runtime.options import WorkerOptions
from workers.runtime.timings import Backoff

NO_LONG_POLL = -1.0
LONGEST_WAIT_SECONDS = 1.0
LANES = "lanes"
LONGEST_NAME = 64


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
        self._held_until: dict[Lane, float] = {}
        self._waiting: Sequence[Lane] = ()
        self._every: Sequence[Lane] = ()
        self._look_at = float("-inf")

    def loops(self, heartbeat: Heartbeat) -> list[asyncio.Task[None]]:
        """The one loop."""
        return [asyncio.create_task(self.poll(heartbeat))]

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
        known = [lane for lane in self._waiting if now >= self._again_at(lane)]
        named, overdue = {lane.name for lane in self._waiting}, now - self._lanes.sweep_seconds
        forgotten = (lane for lane in self._every if lane.name not in named)
        return known + [lane for lane in forgotten if self._of(lane).at <= overdue]

    async def _look(self) -> None:
        before = {lane.name for lane in self._waiting}
        self._waiting = await self._lanes.source.waiting()
        self._held_until = {
            lane: self._held_until[lane] for lane in self._waiting if lane in self._held_until
        }
        self._every = await self._lanes.source.every()
        self._look_at = time.monotonic() + self._lanes.look_seconds
        for lane in self._waiting:
            if lane.name not in before:
                self._note(lane, found=1)  # something new is there

    async def _serve(self, candidates: Sequence[Lane]) -> None:
        turn = self._lanes.order.next_turn(candidates)
        most = min(turn.most, self._load.free)
        allowance = await self._lanes.limits.room(turn.lane.tenant, most)
        if allowance.number:
            await self._ask_lane(turn.lane, allowance.number)
        else:
            await self._hold_off(turn.lane, allowance)

    async def _ask_lane(self, lane: Lane, most: int) -> None:
        owners: list[str] = []
        try:
            job_type = f"{self.job_type}-{lane.name}"
            async with aclosing(self._jobs(job_type, most, NO_LONG_POLL)) as jobs:
                async for activated in jobs:
                    if not self._executor.holds(activated.key):
                        owners.append(self._owner(activated, lane))
                    await self._receive(activated, POLL)
        finally:
            self._note(lane, len(owners))
            await self._lanes.order.served(lane, owners)

    def _owner(self, activated: ActivatedJob, lane: Lane) -> str:
        """Whose job it is: as it says itself, or else whose turn it was."""
        name = self._lanes.tenant_variable
        given = read_job(activated).variables.get(name) if name else None
        return given if isinstance(given, str) and len(given) <= LONGEST_NAME else lane.tenant

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
            self._held_until[lane] = time.monotonic() + seconds

    async def _idle(self) -> None:
        next_at = min([self._look_at, *(self._again_at(lane) for lane in self._waiting)])
        await self._lanes.source.until_changed(max(0.0, next_at - time.monotonic()))
        self._look_at = float("-inf")

    async def _recover(self, how: str, error: BaseException, backoff: Backoff) -> None:
        """Who cannot say who waits has not crashed: what they stand on may be away."""
        if isinstance(error, LanesUnknownError):
            self._gate.doubt()
            await self._start_over(LANES, error, backoff)
        else:
            await super()._recover(how, error, backoff)

    def _again_at(self, lane: Lane) -> float:
        """From when on it is worth asking for this tenant's jobs: others of its lane may go before."""
        return max(self._of(lane).again_at, self._held_until.get(lane, float("-inf")))

    def _of(self, lane: Lane) -> _Asked:
        if lane.name not in self._asked:  # sweeps are spread: not all lanes are looked into at once
            ago = self._options.rng.uniform(0, self._lanes.sweep_seconds)
            self._asked[lane.name] = _Asked(time.monotonic() - ago)
        return self._asked[lane.name]
