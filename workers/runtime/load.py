"""How many jobs of a type are held: running ones and ones that wait for a slot."""

import asyncio
from contextlib import suppress


class Load:
    """Counts held jobs; polling keeps them within `at_once`, pushed jobs within twice that."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self.held = 0
        self._fewer = asyncio.Event()

    @property
    def free(self) -> int:
        """How many more jobs could start at once."""
        return max(0, self.at_once - self.held)

    def take(self) -> None:
        """A job came in."""
        self.held += 1

    def give_back(self) -> None:
        """A job is settled."""
        self.held -= 1
        self._fewer.set()

    async def free_within(self, slots: int, seconds: float) -> bool:
        """Wait so long at most for so many free slots; says whether there are."""
        if self.free < slots:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.until_free(slots)
        return self.free >= slots

    async def until_free(self, slots: int) -> None:
        """Wait until so many slots are free."""
        await self._until_held(self.at_once - slots)

    async def until_not_full(self) -> None:
        """Wait until one more job may at least wait here."""
        await self._until_held(2 * self.at_once - 1)

    async def _until_held(self, most: int) -> None:
        while self.held > most:
            self._fewer.clear()
            await self._fewer.wait()
