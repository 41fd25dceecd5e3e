"""Group commit: work that arrives while a commit runs shares the next one."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

from persistence.database.trouble import may_pass
from persistence.database.watch import Access, Watch, unwatched

Work = TypeVar("Work")
Answer = TypeVar("Answer")
Group = Sequence[tuple[Work, asyncio.Future[Answer]]]
GROUP_LIMIT = 64


def is_of_the_work(error: Exception) -> bool:
    """Whether the work is to blame, and not a database in trouble."""
    return not may_pass(error)


class GroupCommit(Generic[Work, Answer]):
    """Commits works together; two with the same key never share a commit.

    Where an error parts a group each work is tried alone, for one of them may be to blame. A caller that
    gives up waiting does not stop the commit: what is done stays done.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Work]], Awaitable[Sequence[Answer]]],
        *,
        key: Callable[[Work], Hashable],
        parts: Callable[[Exception], bool] = is_of_the_work,
        linger: float = 0.0,
        limit: int = GROUP_LIMIT,
        on_idle: Callable[[], None] = lambda: None,
        watch: Watch = unwatched,
    ) -> None:
        """`linger` is how many seconds the first of a group waits for others to join it.

        `watch` sees each caller's wait. The commit is nobody's alone: it runs in no caller's context.
        """
        self._commit = commit
        self._key = key
        self._parts = parts
        self._linger = linger
        self._limit = limit
        self._on_idle = on_idle
        self._watch = watch
        self._waiting: deque[tuple[Work, asyncio.Future[Answer]]] = deque()
        self._carrier: asyncio.Task[None] | None = None

    async def add(self, work: Work) -> Answer:
        """Commit the work with whatever else waits; returns its own answer."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, answer))
        if self._carrier is None or self._carrier.done():
            self._carrier = asyncio.create_task(self._carry(), context=contextvars.Context())
        with self._watch(Access.SHARED_WRITE):
            return await answer

    async def _carry(self) -> None:
        while self._waiting:
            if self._linger:
                await asyncio.sleep(self._linger)
            await self._settle(self._next_group())
        self._on_idle()

    def _next_group(self) -> Group[Work, Answer]:
        group: list[tuple[Work, asyncio.Future[Answer]]] = []
        later, keys = [], set()
        while self._waiting and len(group) < self._limit:
            work, answer = self._waiting.popleft()
            if self._key(work) in keys:
                later.append((work, answer))
            else:
                keys.add(self._key(work))
                group.append((work, answer))
        self._waiting.extendleft(reversed(later))
        return group

    async def _settle(self, group: Group[Work, Answer]) -> None:
        try:
            answers = await self._commit([work for work, _ in group])
        except Exception as error:
            await self._refuse(group, error)
        else:
            for (_, waiting), answer in zip(group, answers, strict=True):
                if not waiting.done():
                    waiting.set_result(answer)

    async def _refuse(self, group: Group[Work, Answer], error: Exception) -> None:
        if len(group) > 1 and self._parts(error):
            await asyncio.gather(*(self._settle([one]) for one in group))
            return
        for _, waiting in group:
            if not waiting.done():
                waiting.set_exception(error)


class Lanes(Generic[Work, Answer]):
    """Group commits beside each other, one per lane, for works that would only wait for each other."""

    def __init__(self, open_lane: Callable[[str, Callable[[], None]], GroupCommit[Work, Answer]]) -> None:
        """`open_lane` is given a lane's name and what to call when nobody is in it any more."""
        self._open = open_lane
        self._lanes: dict[str, GroupCommit[Work, Answer]] = {}

    async def add(self, lane: str, work: Work) -> Answer:
        """Commit the work with whatever else waits in its lane."""
        if lane not in self._lanes:
            self._lanes[lane] = self._open(lane, lambda: self._close(lane))
        return await self._lanes[lane].add(work)

    def _close(self, lane: str) -> None:
        self._lanes.pop(lane, None)
