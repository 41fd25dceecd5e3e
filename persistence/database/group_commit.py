"""Group commit: work that arrives while a commit runs shares the next one."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

from persistence.database.trouble import may_pass

Work = TypeVar("Work")
Answer = TypeVar("Answer")
Group = Sequence[tuple[Work, asyncio.Future[Answer]]]
GROUP_LIMIT = 64


class GroupCommit(Generic[Work, Answer]):
    """Commits works together; two with the same key never share a commit.

    A caller that gives up waiting does not stop the commit: what is done stays done.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Work]], Awaitable[Sequence[Answer]]],
        *,
        key: Callable[[Work], Hashable],
        limit: int = GROUP_LIMIT,
    ) -> None:
        self._commit = commit
        self._key = key
        self._limit = limit
        self._waiting: deque[tuple[Work, asyncio.Future[Answer]]] = deque()
        self._carrier: asyncio.Task[None] | None = None

    async def add(self, work: Work) -> Answer:
        """Commit the work with whatever else waits; returns its own answer."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, answer))
        if self._carrier is None or self._carrier.done():
            self._carrier = asyncio.create_task(self._carry())
        return await answer

    async def _carry(self) -> None:
        while self._waiting:
            await self._settle(self._next_group())

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
        if len(group) > 1 and not may_pass(error):  # one of them may be to blame
            for one in group:
                await self._settle([one])
            return
        for _, waiting in group:
            if not waiting.done():
                waiting.set_exception(error)
