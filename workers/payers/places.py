"""Places: a claim that finds all of its payer's taken by this worker waits a moment for one.

Nothing is promised by it: whether a claim may go is decided when its send begins, for all workers together.
It only spares most claims the way round through the engine's timer.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

PATIENCE_SECONDS = 1.0
WAITING_PER_PLACE = 2


class Places:
    """The places at payers that this worker's sends take up."""

    def __init__(self, patience: float = PATIENCE_SECONDS) -> None:
        self._patience = patience
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def one(self, payer_id: str, number: int) -> AsyncIterator[None]:
        """One of the payer's `number` places; whoever has waited long enough, or is one too many, goes on."""
        waiting = self._waiting.setdefault(payer_id, deque())
        if number <= self._taken[payer_id] and len(waiting) < WAITING_PER_PLACE * number:
            await self._turn(waiting)
        self._taken[payer_id] += 1
        try:
            yield
        finally:
            self._leave(payer_id, number)

    async def _turn(self, waiting: deque[asyncio.Future[None]]) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            async with asyncio.timeout(self._patience):
                await turn
        except TimeoutError:
            return
        finally:
            with suppress(ValueError):
                waiting.remove(turn)

    def _leave(self, payer_id: str, number: int) -> None:
        self._taken[payer_id] -= 1
        waiting = self._waiting.get(payer_id, deque())
        while waiting and self._taken[payer_id] < number:
            turn = waiting.popleft()
            if not turn.done():  # or its patience has just ended
                turn.set_result(None)
                return
        if not self._taken[payer_id] and not waiting:
            del self._taken[payer_id]
            self._waiting.pop(payer_id, None)
