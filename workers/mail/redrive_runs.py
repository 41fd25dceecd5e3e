"""Letters sent again in the background of a process, one run at a time, for pages that show how it goes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from domain.mail.redrive import RedriveEnd
from workers.mail.redrive import RedriveTally

Tell = Callable[[RedriveTally], None]
Work = Callable[[Tell], Awaitable[tuple[RedriveTally, RedriveEnd]]]
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RedriveRun:
    """A run: who asked for it, when, how it stands; without an end it goes on, unless it broke."""

    by: str
    begun_at: datetime
    tally: RedriveTally
    end: RedriveEnd | None = None
    is_broken: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.end is not None or self.is_broken


class RedriveRuns:
    """The newest run; what a stopped process leaves behind goes on by itself, the rest waits."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self.newest: RedriveRun | None = None

    @property
    def is_busy(self) -> bool:
        """Whether one is under way."""
        return self._task is not None and not self._task.done()

    def begin(self, run: RedriveRun, work: Work) -> None:
        """Carry it out in the background; asked for while none is under way."""
        self.newest = run
        self._task = asyncio.get_running_loop().create_task(self._carry_out(work))

    async def _carry_out(self, work: Work) -> None:
        try:
            tally, end = await work(self._tell)
            self._change(tally=tally, end=end)
        except Exception as error:
            log.error("redrive_broke", error=type(error).__name__)  # noqa: TRY400  # its text may quote a person
            self._change(is_broken=True)

    def _tell(self, tally: RedriveTally) -> None:
        self._change(tally=tally)

    def _change(self, **values: object) -> None:
        if self.newest is not None:
            self.newest = replace(self.newest, **values)  # type: ignore[arg-type]

    async def close(self) -> None:
        """End what is under way: mails on their way go on by themselves."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
