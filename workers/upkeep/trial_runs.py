"""Trials of policies in the background of a process, one at a time, for pages that show how they go."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from domain.what_if.play import Progress
from workers.config.idempotency import IdempotencySettings
from workers.upkeep.policy_desk import PolicyDesk
from workers.upkeep.policy_trials import PolicyTrials, Proposal, Trial

KEPT = 20
"""So many trials are remembered; whoever wants an older one makes it again."""
TrialWork = Callable[[Progress], Awaitable[Trial]]
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class TrialRun:
    """A trial: who asked, what is tried, against which policy; how far it is, and what came of it.

    `text` is the proposed policy as it would be adopted, `mark` tells whether the one in force still is.
    """

    by: str
    begun_at: datetime
    proposal: Proposal
    text: str = field(repr=False)
    mark: str
    done: int = 0
    of: int = 0
    trial: Trial | None = None
    is_broken: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.trial is not None or self.is_broken

    def tell(self, done: int, of: int) -> None:
        """How far it is; the play tells it from a thread of its own."""
        self.done, self.of = done, of


class TrialRuns:
    """The newest trials by number; they are lost with their process, and cost nothing to make again."""

    def __init__(self) -> None:
        self._runs: dict[int, TrialRun] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether one is under way."""
        return self._task is not None and not self._task.done()

    def find(self, number: int) -> TrialRun | None:
        """One that is remembered."""
        return self._runs.get(number)

    def begin(self, run: TrialRun, work: TrialWork) -> int:
        """Carry it out in the background; asked for while none is under way. Returns its number."""
        number = max(self._runs, default=0) + 1
        self._runs[number] = run
        for old in sorted(self._runs)[:-KEPT]:
            del self._runs[old]
        self._task = asyncio.get_running_loop().create_task(self._carry_out(run, work))
        return number

    async def _carry_out(self, run: TrialRun, work: TrialWork) -> None:
        try:
            run.trial = await work(run.tell)
        except Exception as error:
            log.error("policy_trial_broke", error=type(error).__name__)  # noqa: TRY400  # its text may quote data
            run.is_broken = True

    async def close(self) -> None:
        """Nobody waits for what is under way; a thread that plays ends by itself."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class PolicyRoom:
    """All that is done about policies: who adopts, what is tried, and what lint holds them against."""

    desk: PolicyDesk
    trials: PolicyTrials
    runs: TrialRuns
    idempotency: IdempotencySettings
