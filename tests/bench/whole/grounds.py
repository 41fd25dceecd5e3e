"""The databases of a run: a fresh one for each turn, or a filled one that is kept for all rounds."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from tests.bench.whole import filling
from tests.bench.whole.contenders import Contender, Ground
from tests.bench.whole.reenvio import Reenvio
from tests.bench.whole.rounds import Turn
from tests.bench.whole.stage import OTHER_PAYER, Stage
from tests.bench.whole.way import Entrant

SEED = 100
"""So many claims are really sent before they are copied."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """Opens databases; those that are kept are closed with `stack`."""

    stage: Stage
    players: Mapping[str, Contender]
    stack: AsyncExitStack
    workers: int = 1
    _kept: dict[tuple[Entrant, str], Ground] = field(default_factory=dict)
    _numbers: "count[int]" = field(default_factory=count)

    @asynccontextmanager
    async def turn(self, entrant: Entrant, kind: str) -> AsyncIterator[Turn]:
        """A contender's turn on its ground."""
        contender = self.players[entrant.contender]
        if entrant.is_filled:
            yield Turn(contender, await self._filled(entrant, kind), entrant, self.workers)
            return
        async with contender.ground(self.stage, kind, self._name(entrant, kind)) as ground:
            yield Turn(contender, ground, entrant, self.workers)

    async def _filled(self, entrant: Entrant, kind: str) -> Ground:
        if (entrant, kind) not in self._kept:
            self._kept[entrant, kind] = await self._fill(entrant, kind)
        return self._kept[entrant, kind]

    async def _fill(self, entrant: Entrant, kind: str) -> Ground:
        contender = self.players[entrant.contender]
        opened = contender.ground(self.stage, kind, self._name(entrant, kind))
        ground = await self.stack.enter_async_context(opened)
        await Turn(contender, ground, entrant).way(SEED, None)
        await filling.store(ground.url, SEED, entrant.stored)
        if entrant.waiting and isinstance(contender, Reenvio):
            await filling.hold(ground.url, SEED, entrant.waiting)
            await contender.hold(ground, OTHER_PAYER)
        return ground

    def _name(self, entrant: Entrant, kind: str) -> str:
        return f"{entrant.contender}-{kind}-{next(self._numbers)}"
