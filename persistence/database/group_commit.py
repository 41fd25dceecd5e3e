"""Group commit: work that arrives while a commit runs shares the next one."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from persistence.database.trouble import may_pass
from persistence.database.watch import Access, Watch, unwatched

Work = TypeVar("Work")
Answer = TypeVar("Answer")
GROUP_LIMIT = 64


@dataclass(frozen=True, slots=True)
class AskedCommit(Generic[Work, Answer]):
    """A work, who waits for its answer, and who is told of it even if nobody waits any more."""

    work: Work
    waiting: asyncio.Future[Answer]
    tell: Callable[[Answer], None]
    context: contextvars.Context

    def answer(self, answer: Answer) -> None:
        """Tell whoever asked, in its own context, and let it go on."""
        self.waiting.get_loop().call_soon(self.tell, answer, context=self.context)
        if not self.waiting.done():
            self.waiting.set_result(answer)

    def refuse(self, error: Exception) -> None:
        """Let it know that nothing was committed."""
        if not self.waiting.done():
            self.waiting.set_exception(error)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """In the place of an answer: this work was not committed with the others and is to be tried apart."""


Group = Sequence[AskedCommit[Work, Answer]]


def nobody_is_told(_answer: object) -> None:
    """For who needs no word beyond the answer."""


def is_of_the_work(error: Exception) -> bool:
    """Whether the work is to blame, and not a database in trouble."""
    return not may_pass(error)


def one_each(_work: object) -> int:
    """For groups of at most so many works."""
    return 1


class GroupCommit(Generic[Work, Answer]):
    """Commits works together; two with the same key never share a commit, nor overtake each other.

    Where an error parts a group each work is tried alone, for one of them may be to blame; those who come
    later do not wait for it. A caller that gives up waiting does not stop the commit: what is done stays
    done.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Work]], Awaitable[Sequence[Answer | LeftOut]]],
        *,
        key: Callable[[Work], Hashable],
        alone: Callable[[Work], Awaitable[Answer]] | None = None,
        parts: Callable[[Exception], bool] = is_of_the_work,
        linger: float = 0.0,
        limit: int = GROUP_LIMIT,
        size: Callable[[Work], int] = one_each,
        on_idle: Callable[[], None] = lambda: None,
        watch: Watch = unwatched,
    ) -> None:
        """`linger` is how many seconds the first of a group waits for others to join it.

        A group is closed by the work with which the `size` of all its works reaches the `limit`. `alone`
        tries a work apart; who leaves works out has to give it.
        `watch` sees each caller's wait. The commit is nobody's alone: it runs in no caller's context.
        """
        self._commit = commit
        self._key = key
        self._alone = alone or self._commit_one
        self._parts = parts
        self._linger = linger
        self._limit = limit
        self._size = size
        self._on_idle = on_idle
        self._watch = watch
        self._waiting: deque[AskedCommit[Work, Answer]] = deque()
        self._carrier: asyncio.Task[None] | None = None
        self._apart: dict[Hashable, asyncio.Task[None]] = {}

    async def add(self, work: Work, tell: Callable[[Answer], None] = nobody_is_told) -> Answer:
        """Commit the work with whatever else waits; returns its own answer.

        `tell` gets it too, once, in the caller's context, also when the caller has given up waiting.
        """
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append(AskedCommit(work, answer, tell, contextvars.copy_context()))
        self._begin()
        with self._watch(Access.SHARED_WRITE):
            return await answer

    async def finished(self) -> None:
        """Wait until nothing is under way, also of what nobody waits for any more."""
        while under_way := self._under_way():
            await asyncio.wait(under_way)

    def _under_way(self) -> Sequence[asyncio.Task[None]]:
        carrying = [self._carrier] if self._carrier and not self._carrier.done() else []
        return [*carrying, *self._apart.values()]

    def _begin(self) -> None:
        if self._carrier is None or self._carrier.done():
            self._carrier = asyncio.create_task(self._carry(), context=contextvars.Context())

    async def _carry(self) -> None:
        while self._waiting:
            if self._linger:
                await asyncio.sleep(self._linger)
            if not (group := self._next_group()):
                return  # whoever is left waits for one of its key that is tried apart
            await self._settle(group)
        if not self._apart:
            self._on_idle()

    def _next_group(self) -> Group[Work, Answer]:
        group: list[AskedCommit[Work, Answer]] = []
        later, keys, size = [], set(self._apart), 0
        while self._waiting and size < self._limit:
            asked = self._waiting.popleft()
            if self._key(asked.work) in keys:
                later.append(asked)
            else:
                keys.add(self._key(asked.work))
                size += self._size(asked.work)
                group.append(asked)
        self._waiting.extendleft(reversed(later))
        return group

    async def _settle(self, group: Group[Work, Answer]) -> None:
        try:
            answers = await self._commit([asked.work for asked in group])
        except Exception as error:
            self._refuse(group, error)
            return
        for asked, answer in zip(group, answers, strict=True):
            if isinstance(answer, LeftOut):
                self._part(asked)
            else:
                asked.answer(answer)

    def _refuse(self, group: Group[Work, Answer], error: Exception) -> None:
        parts = len(group) > 1 and self._parts(error)
        for asked in group:
            if parts:
                self._part(asked)
            else:
                asked.refuse(error)

    def _part(self, asked: AskedCommit[Work, Answer]) -> None:
        """Try a work in a task of its own; others of its key wait for it, and nobody else."""
        key = self._key(asked.work)
        self._apart[key] = asyncio.create_task(self._settle_alone(asked), context=contextvars.Context())
        self._apart[key].add_done_callback(lambda _: self._after(key))

    async def _settle_alone(self, asked: AskedCommit[Work, Answer]) -> None:
        try:
            answer = await self._alone(asked.work)
        except Exception as error:
            asked.refuse(error)
        else:
            asked.answer(answer)

    async def _commit_one(self, work: Work) -> Answer:
        [answer] = await self._commit([work])
        if isinstance(answer, LeftOut):
            raise TypeError("a work is left out, and nobody has said how it is tried apart")
        return answer

    def _after(self, key: Hashable) -> None:
        del self._apart[key]
        if self._waiting:
            self._begin()
        elif not self._under_way():
            self._on_idle()


class Lanes(Generic[Work, Answer]):
    """Group commits beside each other, one per lane, for works that would only wait for each other."""

    def __init__(self, open_lane: Callable[[str, Callable[[], None]], GroupCommit[Work, Answer]]) -> None:
        """`open_lane` is given a lane's name and what to call when nobody is in it any more."""
        self._open = open_lane
        self._lanes: dict[str, GroupCommit[Work, Answer]] = {}

    async def add(self, lane: str, work: Work, tell: Callable[[Answer], None] = nobody_is_told) -> Answer:
        """Commit the work with whatever else waits in its lane."""
        if lane not in self._lanes:
            self._lanes[lane] = self._open(lane, lambda: self._close(lane))
        return await self._lanes[lane].add(work, tell)

    async def finished(self) -> None:
        """Wait until nothing is under way in any lane."""
        await asyncio.gather(*(lane.finished() for lane in self._lanes.values()))

    def _close(self, lane: str) -> None:
        self._lanes.pop(lane, None)
