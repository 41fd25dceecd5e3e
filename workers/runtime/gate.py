"""Holds jobs off while what every job needs is away: none is taken only to be given back."""

import asyncio
from collections.abc import Awaitable, Callable

from workers.runtime.events import JobsHeld, JobsResumed, Listener, nobody

LOOK_SECONDS = 1.0


async def always_well() -> bool:
    """Nothing can be away."""
    return True


class Gate:
    """A doubt shuts it; whoever comes to it then looks, one at a time, until all is well again."""

    def __init__(
        self,
        well: Callable[[], Awaitable[bool]] = always_well,
        *,
        look_seconds: float = LOOK_SECONDS,
        listener: Listener = nobody,
    ) -> None:
        self._well = well
        self._look_seconds = look_seconds
        self._emit = listener
        self._doubtful = False
        self._held = False
        self._looking = asyncio.Lock()

    def doubt(self) -> None:
        """Somebody met trouble, or took suspiciously long: look before more work is taken."""
        self._doubtful = True

    async def passed(self, beat: Callable[[], None] = lambda: None) -> None:
        """Wait until all is well; `beat` is called while waiting."""
        while self._doubtful:
            beat()
            if not self._looking.locked():
                await self._look()
            if self._doubtful:
                await asyncio.sleep(self._look_seconds)

    async def _look(self) -> None:
        async with self._looking:
            self._doubtful = not await self._well()
        if self._doubtful != self._held:
            self._held = self._doubtful
            self._emit(JobsHeld() if self._held else JobsResumed())
